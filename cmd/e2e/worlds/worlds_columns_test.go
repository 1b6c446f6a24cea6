package worlds_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// columnRows are rows that everybody sees, with columns that viewers do not see
// (tenant) or see under masks (x_…). The worlds differ in exactly what hiding and
// the masks last4, year and null leave out.
func columnRows(from, to int, wild bool) string {
	tenant, prefix, short, month, day := "'a' || i % 3", "'mild-'", "'abc'", 1, 1
	if wild {
		tenant, prefix, short, month, day = "['"+harness.Canary+"b', 'c', NULL, 'A', ''][1 + i % 5]", "'"+harness.Canary+
			"' || repeat('(', i % 40)", "'"+harness.Canary[:2]+"'", 12, 31
	}
	items := "i::BIGINT AS id, " + tenant + " AS tenant, (i % 7)::INT AS grp"
	for _, c := range worldColumns {
		value := c.mild
		if wild {
			value = c.wild
		}
		switch c.name {
		case "s":
			value = fmt.Sprintf("CASE WHEN i %% 7 = 0 THEN NULL WHEN i %% 11 = 0 THEN %s ELSE %s || lpad((i %% 50)::VARCHAR, 4, '0') END", short,
				prefix)
		case "d":
			value = fmt.Sprintf("make_date(2000 + i %% 30, %d, %d)", month, day)
		case "ts":
			value = fmt.Sprintf("CAST(make_timestamp(2000 + i %% 30, %d, %d, 1, 2, 3.5) AS TIMESTAMPTZ)", month, day)
		}
		items += fmt.Sprintf(", (%s) AS v_%s, (%s) AS x_%s", c.sound, c.name, value, c.name)
	}
	return fmt.Sprintf("SELECT %s FROM range(%d, %d) r(i)", items, from, to)
}

// hashRows: the worlds differ in the values of hashed columns, not in which of
// them are equal.
func hashRows(wild bool) string {
	value := func(n string) string { return "'mild ' || " + n }
	number, date := "i % 40", "DATE '2020-01-01' + (i % 40)::INT"
	if wild {
		value = func(n string) string { return "'" + harness.Canary + "' || repeat('(', " + n + ")" }
		number, date = "9223372036854775807 - i % 40", "DATE '1999-01-01' - (i % 40)::INT"
	}
	return fmt.Sprintf("SELECT i::BIGINT AS id, CASE WHEN i %% 9 > 0 THEN %s END AS s, %s AS n, %s AS d FROM range(200) r(i)",
		value("(i % 40)"), number, date)
}

// columnTables: of k columns are masked and one hidden; of kp the hidden one lays
// out the files; of kr columns are hidden and nothing is masked; kt hides the
// column that filters its rows; kh shows hashes.
func columnTables(wild bool) []worldTable {
	var t, dim worldTable
	for _, table := range worldTables(wild) {
		switch table.name {
		case "t":
			t = table
		case "dim":
			dim = table
		}
	}
	t.name = "kt"
	k := worldTable{name: "k", columns: worldSchema(), commits: [][]worldFile{{{sql: columnRows(0, 200, wild)}},
		{{sql: columnRows(200, 300, wild)}}}}
	kp, kr := k, k
	kp.name, kp.partitionBy, kr.name = "kp", []string{"tenant"}, "kr"
	kh := worldTable{name: "kh", columns: []column{{"id", "long"}, {"s", "string"}, {"n", "long"}, {"d", "date"}},
		commits: [][]worldFile{{{sql: hashRows(wild)}}}}
	return []worldTable{k, kp, kr, t, kh, dim}
}

func newColumnWorlds(t *testing.T, threads int) *worlds {
	w := openWorlds(t, threads, columnTables)
	s := w.server
	for _, c := range worldColumns {
		mask := map[string]string{"s": policy.MaskLast4, "d": policy.MaskYear, "ts": policy.MaskYear}[c.name]
		if mask == "" {
			mask = policy.MaskNull
		}
		for _, table := range []string{"k", "kp"} {
			s.Rule("mask", table, "x_"+c.name, `{"effect":"permit","subject":{"role":"admin"},"mask":"`+mask+`"}`)
		}
		s.Rule("cls", "kr", "X_"+strings.ToUpper(c.name), harness.ViewersNot)
	}
	s.Rule("cls", "", "tenant", harness.AdminsSee)
	s.Policy("kt", "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	for _, name := range []string{"s", "n", "d"} {
		s.Rule("mask", "kh", name, `{"effect":"forbid","subject":{"role":"viewer"},"mask":"hash"}`)
	}
	s.Stop()
	return w
}

// columnAsks deals the statements out to the tables. Those over kr look at
// columns that are seen.
func (w *worlds) columnAsks(statements []probe) []harness.Ask {
	var out []harness.Ask
	seen := regexp.MustCompile(`\bx_`)
	for i, p := range statements {
		table := []string{"k", "kp", "k", "kr", "kt"}[i%5]
		if table == "kr" {
			p.sql = seen.ReplaceAllString(p.sql, "v_")
		}
		out = append(out, harness.SQLAsk(p.on(w.Table(table), w.Table("dim"))))
	}
	for _, p := range shapes() {
		for _, table := range []string{"k", "kp", "kr", "kt"} {
			out = append(out, harness.SQLAsk(p.on(w.Table(table), w.Table("dim"))))
		}
	}
	return append(out, w.routes("k", "kp", "kr", "kt")...)
}

// TestTwoWorldsOfColumnsAnswerAlike is the judge of hidden and masked columns:
// one thread, byte by byte.
func TestTwoWorldsOfColumnsAnswerAlike(t *testing.T) {
	t.Parallel()
	w := newColumnWorlds(t, 1)
	o := newOracle(t, w.server.Config.Settings)
	asks := w.columnAsks(o.worldProbes(o.signatures(), worldStatements(800)))
	var answers, clear [2][]harness.Answer
	for i, wild := range []bool{false, true} {
		w.visit(wild, func() {
			answers[i] = w.askAll(asks)
			// Who sees the columns as they are tells the worlds apart.
			w.server.Admin.URL = w.server.URL
			for n := 0; n < len(asks); n += 5 {
				got, err := w.server.Admin.Answer(n, asks[n])
				require.NoError(t, err)
				clear[i] = append(clear[i], got)
			}
		})
	}
	w.compare(asks, answers)
	count := map[int]int{}
	for _, a := range answers[1] {
		count[a.Status]++
	}
	t.Logf("%d requests by status: %v", len(asks), count)
	require.Zero(t, count[http.StatusInternalServerError])
	require.Greater(t, count[http.StatusOK], len(asks)/3, "too few statements were answered")
	differing := 0
	for n := range clear[0] {
		if clear[0][n].Body != clear[1][n].Body {
			differing++
		}
	}
	t.Logf("in the clear %d of %d requests tell the worlds apart", differing, len(clear[0]))
	require.Greater(t, differing, len(clear[0])/10, "the worlds must differ, or this test could not fail")
}

// TestTwoWorldsOfColumnsAnswerAlikeInParallel uses several threads, so that the order of
// rows without ORDER BY is not defined; everything else is compared.
func TestTwoWorldsOfColumnsAnswerAlikeInParallel(t *testing.T) {
	t.Parallel()
	w := newColumnWorlds(t, 2)
	o := newOracle(t, w.server.Config.Settings)
	n := worldStatements(800) / 5
	statements := slices.Concat(leakFamilies(), probes(o.expressions(o.signatures(), 2, n), n))
	var asks []harness.Ask
	for i, p := range statements {
		a := harness.SQLAsk(p.on(w.Table([]string{"k", "kp", "kt"}[i%3]), w.Table("dim")))
		a.Unordered = true
		asks = append(asks, a)
	}
	var answers [2][]harness.Answer
	for i, wild := range []bool{false, true} {
		w.visit(wild, func() { answers[i] = w.askAll(asks) })
	}
	w.compare(asks, answers)
}

// digests replaces hashes by the order in which they appear.
func digests(body string) string {
	seen := map[string]string{}
	return regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllStringFunc(body, func(hash string) string {
		if seen[hash] == "" {
			seen[hash] = "#" + strconv.Itoa(len(seen))
		}
		return seen[hash]
	})
}

// TestTwoWorldsOfHashesAnswerAlike checks that hashes reveal only which values are equal.
func TestTwoWorldsOfHashesAnswerAlike(t *testing.T) {
	t.Parallel()
	w := newColumnWorlds(t, 1)
	var asks []harness.Ask
	for _, sql := range []string{
		"SELECT * FROM {t} ORDER BY id", "FROM {t} LIMIT 30", "SELECT id, s, n, d FROM {t}",
		"SELECT count(s), count(DISTINCT s), count(DISTINCT n), count(DISTINCT d) FROM {t}",
		"SELECT s, count(*) FROM {t} GROUP BY s ORDER BY min(id)",
		"SELECT a.id, b.id FROM {t} a JOIN {t} b ON a.n = b.n AND a.d = b.d ORDER BY ALL", "SELECT count(*) FROM {t} a JOIN {t} b ON a.s = b.n",
		"SELECT DISTINCT ON (s) id, s FROM {t} ORDER BY id", "SELECT length(s), length(n), length(d), id FROM {t} ORDER BY id",
		"SELECT typeof(s), typeof(n), typeof(d) FROM {t} LIMIT 1", "DESCRIBE {t}",
		"SELECT count(*) FROM {t} WHERE s = 'mild 3'", "SELECT count(*) FROM {t} WHERE s LIKE '" + harness.Canary + "%'",
		"SELECT count(*) FROM {t} WHERE n = '3'", "SELECT count(*) FROM {t} WHERE n = 3", "SELECT id FROM {t} WHERE d = DATE '2020-01-02'",
		"SELECT sum(n) FROM {t}", "SELECT date_trunc('month', d) FROM {t}", "SELECT CAST(n AS BIGINT) FROM {t}",
		"SELECT TRY_CAST(d AS DATE) FROM {t}", "SELECT s FROM {t} WHERE s IS NULL",
		"SELECT list_transform([s], lambda x: CAST(x AS DATE)) FROM {t}",
		"SELECT date_diff(s, DATE '2020-01-01', DATE '2020-01-02') FROM {t}",
		"SELECT id, row_number() OVER (PARTITION BY s ORDER BY id) FROM {t} ORDER BY id",
		"SELECT id FROM {t} WHERE s IN (SELECT s FROM {t} WHERE id = 3) ORDER BY id", "EXPLAIN SELECT s FROM {t}",
		"SELECT * FROM {t} AT (VERSION => 1) ORDER BY id", "SELECT regexp_matches(s, '^[0-9a-f]{64}$') FROM {t}",
	} {
		asks = append(asks, harness.SQLAsk(strings.ReplaceAll(sql, "{t}", w.Table("kh"))))
	}
	base := "/v1/tables/lake/" + w.server.Schema + "/kh"
	for _, tail := range []string{"", "/columns", "/history", "/effective-policies", "/rows?order_by=id", "/rows?page_size=7&select=s,n",
		"/rows?where=n%20%3D%20%273%27"} {
		asks = append(asks, harness.Ask{Method: "GET", Path: base + tail})
	}
	var answers [2][]harness.Answer
	for i, wild := range []bool{false, true} {
		w.visit(wild, func() { answers[i] = w.askAll(asks) })
	}
	require.NotEqual(t, answers[0][0].Body, answers[1][0].Body, "the worlds must differ, or this test could not fail")
	for i := range answers {
		for n := range answers[i] {
			answers[i][n].Body = digests(answers[i][n].Body)
		}
	}
	w.compare(asks, answers)
}
