package constraint_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

func TestPortableChecksAreSaidInSparksSQL(t *testing.T) {
	schema := everyType(t)
	for text, spark := range map[string]string{
		"id > 0":                              "(`id` > 0)",
		"ID > 0 and sm < -5":                  "((`id` > 0) AND (`Sm` < (-5)))",
		"name IN ('a', 'b') OR NOT ok":        "((`name` IN ('a', 'b')) OR (NOT `ok`))",
		"i NOT BETWEEN 1 AND 5":               "(NOT (`i` BETWEEN 1 AND 5))",
		"name NOT LIKE 'a%_'":                 "(NOT (`name` LIKE 'a%_'))",
		"name IS NOT NULL":                    "(NOT (`name` IS NULL))",
		"dec * 2 >= 1.50":                     "((`dec` * 2) >= CAST('1.50' AS DECIMAL(3,2)))",
		"d > 0.5":                             "(`d` > CAST('0.5' AS DOUBLE))",
		"f > 0.5":                             "(`f` > CAST('0.5' AS DECIMAL(1,1)))",
		"day >= '2024-02-29'":                 "(`day` >= DATE '2024-02-29')",
		"ts < '2024-01-01T02:00:00+02:00'":    "(`ts` < TIMESTAMP '2024-01-01 00:00:00+00:00')",
		"extract(year FROM day) = 2024":       "(extract(YEAR FROM `day`) = 2024)",
		"length(name) <= 10":                  "(length(`name`) <= 10)",
		"i IS DISTINCT FROM 3":                "(`i` IS DISTINCT FROM 3)",
		"CASE WHEN ok THEN i ELSE sm END > 1": "(CASE WHEN `ok` THEN `i` ELSE `Sm` END > 1)",
		"id % 2 = 0":                          "((`id` % 2) = 0)",
		"st.y = 'q'":                          "(`st`.`Y` = 'q')",
		"ok":                                  "`ok`",
		"-i < abs(sm)":                        "((- `i`) < abs(`Sm`))",
		"id < 9999999999":                     "(`id` < 9999999999)",
		"coalesce(i, 0) = 1":                  "(coalesce(`i`, 0) = 1)",
		"name = 'ünïcode'":                    "(`name` = 'ünïcode')",
	} {
		check, err := constraint.ParseCheck(t.Context(), sharedParser(), schema, text)
		require.NoError(t, err, text)
		reason, ok := check.Portable()
		require.True(t, ok, "%s: %s", text, reason)
		require.Equal(t, spark, check.Spark(), text)
		again, err := constraint.ParseSpark(schema, spark)
		require.NoError(t, err, text)
		require.Equal(t, spark, again.Spark(), "the log's text is read as it was written")
		require.Equal(t, check.Broken("r"), again.Broken("r"), text)
		again, err = constraint.ParseCheck(t.Context(), sharedParser(), schema, spark)
		require.NoError(t, err, "a user takes it from there: %s", spark)
		require.Equal(t, check.Broken("r"), again.Broken("r"), text)
	}
}

func TestWhatSparkWouldTakeDifferentlyIsKeptApart(t *testing.T) {
	schema := everyType(t)
	for _, text := range []string{
		"f > 0.1", "lower(name) = name", "regexp_matches(name, '^a')", "name = 'it''s'", `name LIKE 'a\_b'`, "i / 2 > 1",
		"name LIKE note", "name ILIKE 'a'", "ntz > '2024-01-01'", "i % sm = 1", "dec > d", "trim(name) <> ''", "raw = raw", "list = list",
		"f + 1 > 2", "name || 'x' = 'ax'", "i::VARCHAR = '1'", "day + 1 > '2024-01-01'", "ts > '3000-01-01T00:00:00Z'", "true", "i = NULL",
		"name LIKE 'a!%' ESCAPE '!'", "array_length(list) > 2", "round(d, 2) = d",
	} {
		check, err := constraint.ParseCheck(t.Context(), sharedParser(), schema, text)
		require.NoError(t, err, text)
		reason, ok := check.Portable()
		require.False(t, ok, text)
		require.NotEmpty(t, reason)
	}
}

func TestExpressionsThatAreNoChecksAreRefused(t *testing.T) {
	schema := everyType(t)
	for _, text := range []string{
		"", " ", "id", "name", "1", "id >", "id > 0; SELECT 1", "id > 0) , (1", "id > 0) FROM (SELECT 1", "id > 0) AS x, (2", "a = 1",
		"id > (SELECT 1)", "EXISTS (SELECT 1)", "id IN (SELECT 1)", "count(*) > 1", "sum(id) > 1", "row_number() OVER () = 1", "random() < 1",
		"now() > ts", "current_date > day", "id > $1", "id > ?", "name > 5", "id = 'x'", "ok > 'maybe'", "day > 'yesterday'", "ts > '2024-01-01'",
		"getenv('HOME') = name", "write_blob('/tmp/x', 'x'::BLOB)", "list_transform(list, x -> x) = list", "id COLLATE nocase = 1", "*", "t.*",
		"COLUMNS(*) > 1", "st", "st.z = 1", "name.x = 1", "nextval('s') > 0", "md5(name) = 'x'", "repeat(name, 1000000000) = 'x'",
		"system.main.abs(i) = 1",
		"abs(DISTINCT i) = 1", "abs(i) FILTER (ok) = 1", "i = ANY(list)", "id > 0) WHERE (true", "id > 0) LIMIT (1", "id > 0 /*",
		"ts::DATE = day",
		"try_cast(name AS INTEGER) = 1", "i = 1 AND id", "dec * dec * dec * dec > 1", "ts::VARCHAR = name", "'2024-01-01'::TIMESTAMPTZ < ts",
		"ceil(1)",
		strings.Repeat("NOT ", 3000) + "ok", strings.Repeat("ok AND ", 5000) + "ok",
	} {
		_, err := constraint.ParseCheck(t.Context(), sharedParser(), schema, text)
		require.ErrorIs(t, err, constraint.ErrInvalidCheck, text)
	}
}

func TestConstraintsOfOtherWritersAreReadOrRefused(t *testing.T) {
	schema := everyType(t)
	for text, spark := range map[string]string{
		"id > 0":                            "(`id` > 0)",
		`"Sm" > 1`:                          "(`Sm` > 1)", // as delta-rs quotes
		"name = 'a' OR name = 'b'":          "((`name` = 'a') OR (`name` = 'b'))",
		"name IS NULL OR id >= 1 AND i<=5":  "((`name` IS NULL) OR ((`id` >= 1) AND (`i` <= 5)))",
		"NOT i = 1":                         "(NOT (`i` = 1))",
		"! ok && 1":                         "",
		"day > '2024-01-01'::date":          "(`day` > DATE '2024-01-01')",
		"dec > '150'::decimal(12, 2)":       "(`dec` > CAST('150' AS DECIMAL(12,2)))",
		"(- i) > 1":                         "((- `i`) > 1)",
		"id <=> 5L":                         "(`id` IS NOT DISTINCT FROM CAST('5' AS BIGINT))",
		"i != 1 AND i == 2":                 "((`i` <> 1) AND (`i` = 2))",
		"d > 1e3":                           "(`d` > CAST('1000' AS DOUBLE))",
		"f > 0.1":                           "(CAST(`f` AS DOUBLE) > CAST('0.1' AS DOUBLE))", // Spark compares doubles
		"year(day) > 2000":                  "(extract(YEAR FROM `day`) > 2000)",
		"i IS NOT DISTINCT FROM NULL":       "(`i` IS NOT DISTINCT FROM NULL)",
		"ok IS NOT TRUE":                    "(NOT (`ok` IS NOT DISTINCT FROM true))",
		"i + 1 * 2 > 5":                     "((`i` + (1 * 2)) > 5)",
		"st.x > 1":                          "(`st`.`x` > 1)",
		"name RLIKE 'a'":                    "",
		"name = \"a\"":                      "", // a text to Spark, a column to delta-rs
		"name = 'a''b'":                     "",
		`name = 'a\'b'`:                     "",
		"ts > TIMESTAMP '2024-01-01'":       "", // depends on a session's time zone
		"ts > arrow_cast('x', 'y')":         "",
		"upper(name) = 'A'":                 "",
		"i / 2 = 1":                         "",
		"a = 1":                             "",
		"i = 1 = true":                      "",
		"i IN (SELECT 1)":                   "",
		"id > 0 -- note":                    "",
		"rand() > 0.5":                      "",
		"i":                                 "",
		"i > 2Y":                            "",
		"CASE i WHEN 1 THEN true END":       "",
		"transform(list, x -> x) = list":    "",
		"i > 1 ; drop":                      "",
		"NOT":                               "",
		"i BETWEEN 1":                       "",
		"CAST(name AS INT) = 1":             "",
		"`i":                                "",
		"i > ${spark.x}":                    "",
		"id in (1,2,":                       "",
		strings.Repeat("(", 999) + "ok":     "",
		strings.Repeat("not ", 999) + "ok":  "",
		strings.Repeat("- ", 999) + "i = 1": "",
	} {
		check, err := constraint.ParseSpark(schema, text)
		if spark == "" {
			require.ErrorIs(t, err, constraint.ErrInvalidCheck, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, spark, check.Spark(), text)
	}
}

func FuzzParseSpark(f *testing.F) {
	for _, seed := range []string{"id > 0", "name LIKE 'a%' AND NOT (i BETWEEN 1 AND 2)", "CASE WHEN ok THEN true ELSE false END",
		"`id` <=> 1e3", "dec > '1'::decimal(3,1)"} {
		f.Add(seed)
	}
	schema := delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long}, {Name: "i", Type: delta.Integer}, {Name: "name", Type: delta.String},
		{Name: "ok", Type: delta.Boolean}, {Name: "dec", Type: delta.Decimal{Precision: 12, Scale: 2}},
	}}
	f.Fuzz(func(t *testing.T, text string) {
		check, err := constraint.ParseSpark(schema, text)
		if err != nil {
			require.ErrorIs(t, err, constraint.ErrInvalidCheck)
			return
		}
		again, err := constraint.ParseSpark(schema, check.Spark())
		require.NoError(t, err, check.Spark())
		require.Equal(t, check.Broken("r"), again.Broken("r"))
	})
}
