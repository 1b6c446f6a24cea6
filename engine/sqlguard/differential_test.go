package sqlguard_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// differential compares statements on three engines over the same Parquet files: session is
// what serves users, exact has no optimizers and runs the statement as it was written, and
// unmended is the engine as users of it know it.
type differential struct {
	session         engine.Session
	exact, unmended *sql.Conn
	tables          map[string]sqlguard.Relation
}

// differentialPredicates say what the filtered caller sees. Every exact table has a filtered
// twin whose name begins with seen_.
const differentialPredicate = `"t"."id" % 3 <> 1`

func newDifferential(t testing.TB) *differential {
	t.Helper()
	root := t.TempDir()
	d := &differential{exact: open(t), unmended: open(t), tables: map[string]sqlguard.Relation{}}
	maker := open(t)
	mustExec(t, maker, "SELECT setseed(0.5)")
	for _, table := range differentialTables {
		dir := filepath.Join(root, table.name)
		require.NoError(t, os.Mkdir(dir, 0o755))
		var paths []string
		for i, rows := range table.files {
			name := fmt.Sprintf("%d.parquet", i)
			mustExec(t, maker, "COPY ("+rows+") TO "+engine.QuoteString(filepath.Join(dir, name))+" (FORMAT parquet, ROW_GROUP_SIZE 2048)")
			paths = append(paths, name)
		}
		read := " AS SELECT * FROM read_parquet(" + engine.QuoteString(dir+"/*.parquet") + ") AS t"
		for _, c := range []*sql.Conn{d.exact, d.unmended} {
			kind := "VIEW "
			if c == d.unmended && table.name == "posts" {
				kind = "TABLE " // as copies are; some faults need one
			}
			mustExec(t, c, "CREATE "+kind+table.name+read)
			mustExec(t, c, "CREATE VIEW seen_"+table.name+read+" WHERE "+differentialPredicate)
		}
		columns := describe(t, d.exact, table.name)
		d.tables[table.name] = sqlguard.Relation{Columns: columns, Source: engine.Source{Location: dir, Identity: table.name,
			Files: engine.NewFileList(columns, true, []engine.FileGroup{{Paths: paths}})}}
	}
	mustExec(t, d.exact, "SET threads = 1")
	mustExec(t, d.exact, "PRAGMA disable_optimizer")
	mustExec(t, d.exact, exactMedian)
	mustExec(t, d.unmended, "SET disabled_optimizers = 'statistics_propagation'")
	e, err := duckdb.New(context.Background(), duckdb.Options{ExtensionDirs: []string{oracletest.Extensions(t)}})
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("the delta extension is needed; make extensions installs it: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	d.session, err = e.Open(t.Context(), engine.SessionOptions{Roots: []string{root}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.session.Close()) })
	return d
}

// exactMedian is a median of whole numbers whose sums are even.
const exactMedian = `CREATE MACRO exact_median(l) AS (SELECT CASE WHEN len(s) % 2 = 1 THEN s[(len(s) + 1) // 2]::HUGEINT
	ELSE (s[len(s) // 2]::HUGEINT + s[len(s) // 2 + 1]::HUGEINT) // 2 END
	FROM (SELECT list_sort(list_filter(l, lambda x: x IS NOT NULL)) AS s))`

// reading is a way in which the server reads tables.
type reading struct {
	name             string
	filtered, copied bool
}

var readings = []reading{{name: "whole"}, {name: "filtered", filtered: true}, {name: "copied", filtered: true, copied: true}}

// served runs a statement as the server does.
func (d *differential) served(t testing.TB, r reading, text string) ([]string, error) {
	t.Helper()
	q, err := sqlguard.Parse(t.Context(), sharedParser(), text, sqlguard.Options{EngineVersion: engineVersion})
	require.NoError(t, err, text)
	var relations []sqlguard.Relation
	for _, ref := range q.Tables() {
		relation, ok := d.tables[strings.ToLower(ref.Name)]
		require.True(t, ok, ref.Name)
		if r.filtered {
			relation.Filtered, relation.Predicate, relation.NoPushdown = true, differentialPredicate, r.copied
		}
		relations = append(relations, relation)
	}
	plan, err := q.Bind(t.Context(), sharedParser(), relations)
	require.NoError(t, err, text)
	return sorted(enginetest.TryRows(t.Context(), d.session, engine.Statement{SQL: plan.SQL, Sources: plan.Sources,
		Barriers: plan.Barriers, Lease: engine.Lease{Threads: 2, Memory: 512 << 20}}))
}

// plainly runs a statement on a plain connection.
func plainly(t testing.TB, conn *sql.Conn, r reading, text string) ([]string, error) {
	t.Helper()
	if r.filtered {
		text = seen.Replace(text)
	}
	rows, err := conn.QueryContext(t.Context(), text)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, rows.Close()) }()
	types, err := rows.ColumnTypes()
	require.NoError(t, err)
	var out []string
	for rows.Next() {
		row, ptr := make([]any, len(types)), make([]any, len(types))
		for i := range row {
			ptr[i] = &row[i]
		}
		require.NoError(t, rows.Scan(ptr...))
		values := make([]string, len(row))
		for i, v := range row {
			if values[i] = fmt.Sprint(v); v == nil {
				values[i] = "(null)"
			}
		}
		out = append(out, strings.Join(values, "|"))
	}
	return sorted(out, rows.Err())
}

func sorted(rows []string, err error) ([]string, error) { slices.Sort(rows); return rows, err }

// TestStatementsMeanWhatTheyMeanWithoutOptimizers runs generated statements. With
// LAKEWARDEN_TEST_FUZZ_SQL it runs for that time, from a seed that it prints, or that
// LAKEWARDEN_TEST_SEED sets.
func TestStatementsMeanWhatTheyMeanWithoutOptimizers(t *testing.T) {
	d := newDifferential(t)
	seed, end, rounds := uint64(1), time.Time{}, 3
	if span := os.Getenv("LAKEWARDEN_TEST_FUZZ_SQL"); span != "" {
		length, err := time.ParseDuration(span)
		require.NoError(t, err)
		seed, end, rounds = uint64(time.Now().UnixNano()), time.Now().Add(length), 1<<30
	}
	if s := os.Getenv("LAKEWARDEN_TEST_SEED"); s != "" {
		_, err := fmt.Sscan(s, &seed)
		require.NoError(t, err)
	}
	t.Logf("LAKEWARDEN_TEST_SEED=%d", seed)
	cases := 0
	for round := 0; round < rounds && (end.IsZero() || time.Now().Before(end)); round++ {
		for k, class := range faultClasses {
			g := generatorOf(seed+uint64(round), k)
			s := class.statement(g)
			for _, r := range readings {
				cases++
				d.compare(t, r, s, fmt.Sprintf("%s, %s, LAKEWARDEN_TEST_SEED=%d", class.name, r.name, seed+uint64(round)))
			}
		}
	}
	t.Logf("%d statements", cases)
}

// compare fails if the server's rows are not the exact ones. It may fail to answer where a
// value is out of range.
func (d *differential) compare(t *testing.T, r reading, s statement, what string) {
	t.Helper()
	got, err := d.served(t, r, s.text)
	want, exactErr := plainly(t, d.exact, r, s.exactly())
	if err != nil {
		var failed *engine.Error
		outOfRange := s.wide && errors.As(err, &failed) && failed.Kind == engine.KindRuntime
		require.True(t, exactErr != nil || outOfRange, "%s\n%s\n%v", what, s.text, err)
		return
	}
	require.NoError(t, exactErr, "%s\n%s", what, s.text)
	require.Equal(t, want, got, "%s\n%s", what, s.text)
}

// TestGeneratedStatementsFindTheFaults proves that the statements reach each fault: the engine
// as it is answers one of them wrongly.
func TestGeneratedStatementsFindTheFaults(t *testing.T) {
	d := newDifferential(t)
	for k, class := range faultClasses {
		if !class.known {
			continue
		}
		t.Run(class.name, func(t *testing.T) {
			for seed := range uint64(150) {
				s := class.statement(generatorOf(seed+1, k))
				got, err := plainly(t, d.unmended, readings[0], s.text)
				want, exactErr := plainly(t, d.exact, readings[0], s.exactly())
				if err == nil && (exactErr != nil || !slices.Equal(want, got)) {
					t.Logf("seed %d: %s", seed+1, s.text)
					return
				}
			}
			t.Error("no statement finds it")
		})
	}
}

func generatorOf(seed uint64, class int) *generator {
	return &generator{rand.New(rand.NewPCG(seed, uint64(class)))}
}
