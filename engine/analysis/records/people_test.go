package records_test

import (
	"fmt"
	"strings"
)

// syllables of invented names.
var syllables = strings.Fields("ba ko ri mel tan dor vin sha lo pe ran gis nu fer wal dim jo cas tri ben hol mar que " +
	"zed ul ost ira elm yan wi")

// pick returns SQL for one of n invented names, the first of them most often. of is SQL for
// the entity, salt tells columns apart.
func pick(of, salt string, n int) string {
	list := "['" + strings.Join(syllables, "', '") + "']"
	number := fmt.Sprintf("CAST(floor(%d * pow((hash(%s || '%s') %% 1000000) / 1000000.0, 1.7)) AS BIGINT)", n, of, salt)
	part := func(of string) string { return fmt.Sprintf("%s[1 + (%s) %% %d]", list, of, len(syllables)) }
	return fmt.Sprintf("%s || %s || CASE WHEN %s > 400 THEN %s ELSE '' END", part(number+" * 7 + 3"),
		part("("+number+" * 13 + 5) // 7"), number, part(number+" // 9"))
}

// chance returns SQL that is true for one row in so many, by row and salt.
func chance(salt string, oneIn int) string {
	return fmt.Sprintf("hash(i || '%s') %% %d = 0", salt, oneIn)
}

// spoiled returns SQL for a text with errors in some of the rows that repeat another one: a
// letter is lost, doubled, replaced or swapped with the next one, or all are missing.
func spoiled(text, salt string, oneIn int) string {
	at := fmt.Sprintf("CAST(hash(i || '%s at') %% greatest(length(%s) - 1, 1) AS BIGINT)", salt, text)
	return fmt.Sprintf(`CASE WHEN i < originals OR NOT %[3]s THEN %[1]s
		WHEN %[4]s THEN NULL
		WHEN %[5]s THEN left(%[1]s, %[2]s) || substr(%[1]s, %[2]s + 2)
		WHEN %[6]s THEN left(%[1]s, %[2]s + 1) || substr(%[1]s, %[2]s + 1)
		WHEN %[7]s THEN left(%[1]s, %[2]s) || substr(%[1]s, %[2]s + 2, 1) || substr(%[1]s, %[2]s + 1, 1) || substr(%[1]s, %[2]s + 3)
		ELSE left(%[1]s, %[2]s) || substr('aeioutnrsl', 1 + CAST(hash(i || 'r') %% 10 AS BIGINT), 1) || substr(%[1]s, %[2]s + 2) END`,
		text, at, chance(salt, oneIn), chance(salt+" null", 5), chance(salt+" lost", 4), chance(salt+" twice", 3), chance(salt+" swap", 2))
}

// people returns SQL for a table of invented people: originals, and copies of some of them
// with errors. The column entity tells who is meant.
func people(originals, copies int) string {
	entity := fmt.Sprintf("CASE WHEN range < %d THEN range ELSE CAST(hash(range || 'of') %% %d AS BIGINT) END", originals, originals)
	suburb := pick("(e % 3000)", "suburb", 1500)
	return fmt.Sprintf(`WITH people AS (SELECT range AS i, %[1]d AS originals, %[3]s AS e FROM range(%[2]d)),
		clean AS (SELECT i, originals, e, %[4]s AS given, %[5]s AS surname, CAST(1 + hash(e || 'no') %% 240 AS VARCHAR) AS number,
			%[6]s || ' ' || ['street', 'road', 'avenue', 'place', 'court'][1 + CAST(hash(e || 'kind') %% 5 AS BIGINT)] AS street,
			%[7]s AS suburb, CAST(2000 + (e %% 3000) * 2 AS VARCHAR) AS postcode, ['nsw', 'vic', 'qld', 'wa'][1 + (e %% 3000) // 900] AS state,
			strftime(DATE '1925-01-01' + CAST(hash(e || 'born') %% 29000 AS INTEGER), '%%Y%%m%%d') AS born,
			CAST(1000000 + hash(e || 'ssn') %% 8999999 AS VARCHAR) AS ssn FROM people),
		spoiled AS (SELECT i, e, originals, %[8]s AS given, %[9]s AS surname, %[10]s AS number, %[11]s AS street, %[12]s AS suburb,
			%[13]s AS postcode, state, %[14]s AS born, %[15]s AS ssn FROM clean)
		SELECT i + 100 AS id, e AS entity, CASE WHEN i >= originals AND %[16]s THEN surname ELSE given END AS given,
			CASE WHEN i >= originals AND %[16]s THEN given ELSE surname END AS surname, number, street, suburb, postcode, state, born, ssn
		FROM spoiled ORDER BY hash(i)`,
		originals, originals+copies, entity, pick("e", "given", 700), pick("e", "surname", 4000), pick("e", "street", 3000), suburb,
		spoiled("given", "g", 3), spoiled("surname", "s", 3), spoiled("number", "n", 6), spoiled("street", "st", 3), spoiled("suburb", "su", 4),
		spoiled("postcode", "p", 6), spoiled("born", "b", 6), spoiled("ssn", "ssn", 6), chance("exchanged", 12))
}
