package sqlguard

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

var testParser = sync.OnceValue(duckdb.NewParser)

// hiddenColumn is a column that occurs as v_… (sound in visible rows) and as
// x_… (NULL in visible rows, so that any failure over it tells of hidden ones).
type hiddenColumn struct{ name, typ, sound, mild, wild string }

var hiddenColumns = []hiddenColumn{
	{"b", "BOOLEAN", "i % 2 = 0", "i % 3 = 0", "[true, false, NULL][1 + i % 3]"},
	{"i8", "TINYINT", "i % 20", "i % 20", "[127, -128, 0, NULL][1 + i % 4]"},
	{"i16", "SMALLINT", "i % 300", "i % 300", "[32767, -32768, 0, -1][1 + i % 4]"},
	{"i32", "INTEGER", "i % 9", "i % 9", "[2147483647, -2147483648, 0, -1, 64][1 + i % 5]"},
	{"i64", "BIGINT", "i", "i", "[9223372036854775807, -9223372036854775808, 0, -1, 70][1 + i % 5]"},
	{"dec", "DECIMAL(15,2)", "i / 4", "i / 4", "(['9999999999999.99', '-9999999999999.99', '0', NULL]::DECIMAL(15,2)[])[1 + i % 4]"},
	{"wide", "DECIMAL(24,4)", "i / 4", "i / 4", "(['99999999999999999999.9999', '-99999999999999999999.9999', NULL]::DECIMAL(24,4)[])[1 + i " +
		"% 3]"},
	{"f", "DOUBLE", "i / 8", "i / 8", "['NaN'::DOUBLE, 'inf', '-inf', 1.7e308, -1.7e308, -0.0][1 + i % 6]"},
	{"s", "VARCHAR", "['day', '1', 'a b c', '2020-01-01', 'x,y', 'ä€%_'][1 + i % 6]", "['day', '1', 'hour', '{}'][1 + i % 4]",
		"['SECRET-' || i, '', '(', '%', '\\', '99999999999999999999', repeat('z', 3000), 'a\U0001F600', 'e\u0301\u200d', 'ﬀİß', NULL][1 + i % 11]"},
	{"bin", "BLOB", "encode('b' || i % 7)", "encode('c' || i % 7)", "['\\xFF\\x00\\xC3'::BLOB, ''::BLOB, NULL][1 + i % 3]"},
	{"d", "DATE", "DATE '2020-01-01' + (i % 99)::INT", "DATE '2020-01-01' + (i % 99)::INT",
		"[DATE '5881580-07-10', DATE '5877642-06-25 (BC)', DATE 'infinity', DATE '-infinity', DATE '9999-12-31', DATE '0001-01-01', NULL][1 + " +
			"i % 7]"},
	{"ts", "TIMESTAMP", "TIMESTAMP '2020-01-01' + to_hours(i % 999)", "TIMESTAMP '2020-01-01' + to_hours(i % 999)",
		"[TIMESTAMP '294247-01-10 04:00:54.775806', TIMESTAMP '290309-12-22 (BC) 00:00:00', TIMESTAMP 'infinity', TIMESTAMP '-infinity', " +
			"NULL][1 + i % 5]"},
	{"tz", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_hours(i % 999)",
		"TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_hours(i % 999)",
		"[TIMESTAMPTZ '294247-01-10 04:00:54.775806+00', TIMESTAMPTZ 'infinity', TIMESTAMPTZ '0001-01-01 00:00:00+00', NULL][1 + i % 4]"},
}

func hiddenSchema() []engine.Column {
	out := []engine.Column{{Name: "id", Type: sqltype.BigInt}, {Name: "tenant", Type: sqltype.Varchar}, {Name: "g", Type: sqltype.Integer}}
	for _, c := range hiddenColumns {
		out = append(out, engine.Column{Name: "v_" + c.name, Type: sqltype.MustParse(c.typ)},
			engine.Column{Name: "x_" + c.name, Type: sqltype.MustParse(c.typ)})
	}
	return out
}

func worldSelect(from, to int, id, tenant string, value, other func(hiddenColumn) string) string {
	items := fmt.Sprintf("(%s)::BIGINT AS id, (%s)::VARCHAR AS tenant, (i %% 7)::INTEGER AS g", id, tenant)
	for _, c := range hiddenColumns {
		items += fmt.Sprintf(", (%s)::%s AS v_%s, (%s)::%s AS x_%s", value(c), c.typ, c.name, other(c), c.typ, c.name)
	}
	return fmt.Sprintf("SELECT %s FROM range(%d, %d) r(i)", items, from, to)
}

func visible(from, to int) string {
	return worldSelect(from, to, "i", "'a'", func(c hiddenColumn) string { return c.sound }, func(hiddenColumn) string { return "NULL" })
}

func hidden(from, to int, wild bool) string {
	if wild {
		value := func(c hiddenColumn) string { return c.wild }
		return worldSelect(from, to, "[i, -i, 9223372036854775807, 0][1 + i % 4]", "['SECRET', 'c', NULL, 'A', ''][1 + i % 5]", value, value)
	}
	// Mild rows fail nothing that visible ones do not fail.
	return worldSelect(from, to, "i", "['b', 'c'][1 + i % 2]", func(c hiddenColumn) string { return c.mild },
		func(hiddenColumn) string { return "NULL" })
}

func unionAll(parts ...string) string { return strings.Join(parts, " UNION ALL ") }

// dataFile is one Parquet file of a table.
type dataFile struct{ sql, options string }

// worldFiles are the files of the tables t and d, which the caller sees the
// same rows of in both worlds.
func worldFiles(wild bool) map[string][]dataFile {
	if !wild {
		return map[string][]dataFile{
			"t": {{sql: unionAll(visible(0, 180), hidden(1000, 1020, false))}, {sql: unionAll(visible(180, 300), hidden(1020, 1030, false))}},
			"d": {{sql: unionAll(visible(0, 40), hidden(1000, 1010, false))}},
		}
	}
	return map[string][]dataFile{
		"t": {{sql: hidden(5000, 5900, true)}, {sql: unionAll(visible(0, 90), hidden(0, 2500, true), visible(90, 180), hidden(0, 300, true)),
			options: ", ROW_GROUP_SIZE 2048"},
			{sql: unionAll(hidden(700, 1400, true), visible(180, 300), hidden(1400, 1500, true)),
				options: ", DICTIONARY_SIZE_LIMIT 1, PARQUET_VERSION V2"}},
		"d": {{sql: hidden(0, 9000, true), options: ", ROW_GROUP_SIZE 2048"},
			{sql: unionAll(hidden(0, 20, true), visible(0, 40), hidden(40, 60, true))}},
	}
}

// noArgs are the arguments of statements without parameters.
var noArgs engine.Args

// twoWorlds are two data sets that differ in rows which the caller does not see.
type twoWorlds struct {
	dirs     [2]string
	files    [2]map[string]*engine.FileList
	sessions [2]engine.Session
	threads  int
	turn     int
	args     engine.Args
}

// policies leave the same rows. The engine pushes some into the scan, and
// evaluates others after whatever it takes for cheaper.
var policies = []string{
	`"t"."tenant" = 'a'`,
	`("t"."tenant" LIKE '%_a%' OR "t"."tenant" LIKE 'a_%' OR "t"."tenant" IN ('a', 'z')) AND NOT ("t"."tenant" LIKE '%SEC%RET%')`,
	`"t"."tenant" IN ('a', 'z')`,
}

func newTwoWorlds(t testing.TB, threads int) *twoWorlds { return worldsOf(t, threads, worldFiles) }

func worldsOf(t testing.TB, threads int, tables func(wild bool) map[string][]dataFile) *twoWorlds {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	w := &twoWorlds{threads: threads}
	eng, err := duckdb.New(t.Context(), duckdb.Options{Extensions: []string{}, ExtensionDirs: []string{oracletest.Extensions(t)},
		TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	for i := range w.dirs {
		w.dirs[i], w.files[i] = t.TempDir(), map[string]*engine.FileList{}
		for name, files := range tables(i == 1) {
			var paths []string
			for k, f := range files {
				path := fmt.Sprintf("%s%d.parquet", name, k)
				_, err := db.ExecContext(t.Context(), "COPY ("+f.sql+") TO "+engine.QuoteString(filepath.Join(w.dirs[i], path))+" (FORMAT parquet"+
					f.options+")")
				require.NoError(t, err)
				paths = append(paths, path)
			}
			w.files[i][name] = engine.NewFileList(hiddenSchema(), true, []engine.FileGroup{{Paths: paths}})
		}
		w.sessions[i], err = eng.Open(t.Context(), engine.SessionOptions{Roots: []string{w.dirs[i]}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, w.sessions[i].Close()) })
	}
	return w
}

// relations are shielded in every second turn, and then in one world only: files
// without hidden rows need no shield.
func (w *twoWorlds) relations(q *Query, world int) []Relation {
	var out []Relation
	for _, ref := range q.Tables() {
		out = append(out, Relation{Columns: hiddenSchema(), Filtered: true, Predicate: policies[w.turn%len(policies)],
			Source: engine.Source{Location: w.dirs[world], Files: w.files[world][ref.Name], Identity: ref.Name}, Shielded: world == 1 &&
				w.turn%2 == 1})
	}
	return out
}

func parseFor(t testing.TB, text string) *Query {
	t.Helper()
	q, err := Parse(t.Context(), testParser(), text, Options{EngineVersion: leakproof.Default.Engine})
	require.NoError(t, err, text)
	return q
}

// plain binds a statement by a list, or says why it may not be plain.
func (w *twoWorlds) plain(t testing.TB, list *leakproof.List, text string, world int) (*Plan, string) {
	t.Helper()
	q := parseFor(t, text)
	relations := w.relations(q, world)
	pr, reason := q.proofBy(list, relations, constant.ArgumentsOf(w.args))
	if reason != "" {
		return nil, reason
	}
	prepared, err := q.bindPlain(t.Context(), testParser(), relations, pr)
	require.NoError(t, err, text)
	plan := prepared.Plan(relations, w.args)
	require.Empty(t, plan.Barriers)
	require.True(t, plan.ReadsFiltered)
	return plan, ""
}

// answers returns all that a caller may learn in one world: rows in their order,
// how they are cut into batches, or the failure.
func (w *twoWorlds) answers(t testing.TB, plan *Plan, world int) string {
	t.Helper()
	text, err := answerOf(t.Context(), plan, w.sessions[world], engine.Statement{SQL: plan.SQL, Args: w.args, Sources: plan.Sources,
		Barriers: plan.Barriers,
		Lease:    engine.Lease{Threads: w.threads, Memory: 512 << 20}})
	var failure *engine.Error
	if errors.As(err, &failure) {
		return fmt.Sprintf("failed: %v %s", failure.Kind, failure.Class)
	}
	require.NoError(t, err)
	return text
}

func answerOf(ctx context.Context, plan *Plan, s engine.Session, st engine.Statement) (string, error) {
	res, err := s.Query(ctx, st)
	if err != nil {
		return "", err
	}
	if plan.Rebatch {
		res = engine.Rebatch(res)
	}
	defer func() { _ = res.Close() }()
	var out strings.Builder
	for {
		batch, err := res.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out.String(), nil
		}
		if err != nil {
			return "", err
		}
		raw, err := batch.MarshalJSON()
		fmt.Fprintf(&out, "%d rows %s\n", batch.NumRows(), raw)
		batch.Release()
		if err != nil {
			return "", err
		}
	}
}

// sorted is an answer as a multiset of rows, however they are cut into batches.
func sorted(answer string) string {
	lines := strings.Split(batchStart.ReplaceAllString(answer, ","), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var batchStart = regexp.MustCompile(`\d+ rows \[`)

// differ runs a plain statement in both worlds.
func (w *twoWorlds) differ(t testing.TB, list *leakproof.List, text string) (plain, differs bool, detail string) {
	t.Helper()
	var got [2]string
	w.turn++
	for i := range got {
		plan, reason := w.plain(t, list, text, i)
		if plan == nil {
			return false, false, reason
		}
		got[i] = w.answers(t, plan, i)
	}
	return true, got[0] != got[1], fmt.Sprintf("%s\nmild: %.600s\nwild: %.600s", text, got[0], got[1])
}
