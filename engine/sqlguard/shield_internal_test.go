package sqlguard

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// groupedColumns are those of a table with one file of five row groups. Every
// column grows from group to group. The caller sees nothing of the third group,
// and of the others half of the rows, which have values between the hidden ones.
var groupedColumns = []engine.Column{
	{Name: "id", Type: sqltype.BigInt}, {Name: "tenant", Type: sqltype.Varchar}, {Name: "d", Type: sqltype.Date},
	{Name: "s", Type: sqltype.Varchar},
	{Name: "few", Type: sqltype.Varchar}, {Name: "n", Type: sqltype.MustParse("DECIMAL(12,2)")}, {Name: "f", Type: sqltype.Double},
	{Name: "z", Type: sqltype.TimestampTZ},
	{Name: "i", Type: sqltype.Integer}, {Name: "b", Type: sqltype.Boolean}, {Name: "ts", Type: sqltype.Timestamp},
	{Name: "bin", Type: sqltype.Blob},
}

const (
	groups      = 5
	hiddenGroup = 2
	groupRows   = 2048
)

const groupedRows = `SELECT i::BIGINT AS id, CASE WHEN i // 2048 = 2 OR i % 2 = 0 THEN 'b' ELSE 'a' END AS tenant, DATE '2020-01-01' + (i // 10)::INTEGER AS d,
	'text ' || (i + 100000) AS s, 'few ' || (i // 2048) || CASE WHEN i % 2 = 0 THEN 'hidden' ELSE '' END AS few, (i / 4)::DECIMAL(12,2) AS n, (i * 1.5)::DOUBLE AS f,
	TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_hours(i::INTEGER) AS z, i::INTEGER AS i, i // 2048 > 2 AS b,
	TIMESTAMP '2020-01-01' + to_hours(i::INTEGER) AS ts, encode('text ' || (i + 100000)) AS bin FROM range(5 * 2048) r(i)`

// groupedTable is that table several times: a copy for each group of which no byte
// can be read, so that a statement which fails there reads that group, and one of
// which no group can be read.
type groupedTable struct {
	engine  *duckdb.Engine
	sources [groups + 1]engine.Source
}

func newGroupedTable(t *testing.T) *groupedTable {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	eng, err := duckdb.New(t.Context(), duckdb.Options{Extensions: []string{}, ExtensionDirs: []string{oracletest.Extensions(t)},
		TempDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	whole := filepath.Join(t.TempDir(), "t.parquet")
	_, err = db.ExecContext(t.Context(), "COPY ("+groupedRows+") TO "+engine.QuoteString(whole)+
		fmt.Sprintf(" (FORMAT parquet, ROW_GROUP_SIZE %d)", groupRows))
	require.NoError(t, err)
	raw, err := os.ReadFile(whole)
	require.NoError(t, err)
	table := &groupedTable{engine: eng}
	for broken := range table.sources {
		raw := slices.Clone(raw)
		for g := range groups {
			if broken != g && broken != groups {
				continue
			}
			var from, to int
			require.NoError(t,
				db.QueryRowContext(t.Context(), `SELECT min(least(data_page_offset, coalesce(dictionary_page_offset, data_page_offset))),
				max(least(data_page_offset, coalesce(dictionary_page_offset, data_page_offset)) + total_compressed_size)
				FROM parquet_metadata(`+engine.QuoteString(whole)+`) WHERE row_group_id = ?`, g).Scan(&from, &to))
			copy(raw[from:to], bytes.Repeat([]byte{0xff}, to-from))
		}
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "t.parquet"), raw, 0o600))
		table.sources[broken] = engine.Source{Location: dir, Identity: "t", Files: engine.NewFileList(groupedColumns, true,
			[]engine.FileGroup{{Paths: []string{"t.parquet"}}})}
	}
	return table
}

// reads reports whether a statement reads a group of the source that cannot be
// read, and whether it reads the table in place.
func (g *groupedTable) reads(t *testing.T, source engine.Source, text string, shielded bool, threads int) (reads, inPlace bool) {
	t.Helper()
	q := parseFor(t, text)
	var relations []Relation
	for range q.Tables() {
		relations = append(relations, Relation{Columns: groupedColumns, Filtered: true, Predicate: `"t"."tenant" = 'a'`, Source: source,
			Shielded: shielded})
	}
	plan, err := q.Bind(t.Context(), testParser(), relations)
	require.NoError(t, err, text)
	session, err := g.engine.Open(t.Context(), engine.SessionOptions{Roots: []string{source.Location}})
	require.NoError(t, err)
	_, err = answerOf(t.Context(), plan, session, engine.Statement{SQL: plan.SQL, Sources: plan.Sources, Barriers: plan.Barriers,
		Lease: engine.Lease{Threads: threads, Memory: 512 << 20}})
	require.NoError(t, session.Close())
	var failure *engine.Error
	if errors.As(err, &failure) {
		require.NotContains(t, []engine.Kind{engine.KindBind, engine.KindSyntax}, failure.Kind, "%s: %s", text, failure.Text)
		return true, len(plan.Barriers) == 0
	}
	require.NoError(t, err)
	return false, len(plan.Barriers) == 0
}

// askedOfGroups are conditions by which a reader of files could skip row groups,
// for values inside and outside of the hidden range. Those of the second list are
// evaluated over copies.
var askedOfGroups = [][]string{{
	"SELECT n FROM t WHERE id = 2", "SELECT n FROM t WHERE id = -5", "SELECT n FROM t WHERE id = 99999",
	"SELECT n FROM t WHERE id IN (-1, -2)",
	"SELECT n FROM t WHERE id BETWEEN 2000 AND 2100", "SELECT n FROM t WHERE id < 0", "SELECT n FROM t WHERE NOT id >= 0",
	"SELECT n FROM t WHERE id IS NULL",
	"SELECT n FROM t WHERE d = DATE '1999-01-01'", "SELECT n FROM t WHERE d > DATE '2020-06-01'", "SELECT n FROM t WHERE s = 'text 100002'",
	"SELECT n FROM t WHERE s = 'a'",
	"SELECT n FROM t WHERE s LIKE 'zzz%'", "SELECT n FROM t WHERE few = 'few 1hidden'", "SELECT n FROM t WHERE few = 'none'",
	"SELECT n FROM t WHERE few IN ('no', 'none')",
	"SELECT id FROM t WHERE n = -1.25",
	"SELECT id FROM t WHERE ts < TIMESTAMP '1999-01-01'", "SELECT id FROM t WHERE i = -7", "SELECT id FROM t WHERE id = -1 OR id = -2",
	"SELECT count(*) FROM t WHERE id = -5", "SELECT max(id) FROM t WHERE id < 0", "SELECT min(id), max(id) FROM t",
	"SELECT id, n FROM t ORDER BY id DESC LIMIT 1",
	"SELECT id, n FROM t ORDER BY id LIMIT 1", "SELECT count(*) FROM t WHERE tenant = 'zzz'",
	"SELECT count(*) FROM t WHERE id IN (" + strings.Repeat("-1, -3, -2, ", 30) + "-4)",
	"SELECT tenant, count(*) FROM t WHERE d < DATE '1999-01-01' GROUP BY tenant",
}, {
	"SELECT n, random() FROM t WHERE id = 2", "SELECT n, random() FROM t WHERE id = -5", "SELECT n, random() FROM t WHERE id IN (-1, -2)",
	"SELECT n, random() FROM t WHERE id BETWEEN 2000 AND 2100",
	"SELECT n, random() FROM t WHERE s = 'a' AND d > DATE '2020-06-01'", "SELECT n, random() FROM t WHERE id IS NULL",
	"SELECT n, random() FROM t WHERE few = 'none'",
	"SELECT id FROM t WHERE z < TIMESTAMPTZ '1999-01-01 00:00:00+00'",
	"SELECT id FROM t WHERE b = true AND i < 0",
	"SELECT count(*) FROM t a JOIN t b ON a.id = b.id WHERE b.n = -1",
	"SELECT count(*) FROM t a WHERE a.id IN (SELECT b.i FROM t b WHERE b.n < 0)",
	"SELECT n, random() FROM t WHERE f > 1e300", "SELECT n, random() FROM t WHERE bin = 'a'::BLOB",
	"SELECT count(*), random() FROM t a JOIN t b ON a.id = b.id WHERE b.n = -1", "SELECT id, random() FROM t ORDER BY id DESC LIMIT 1",
}}

// TestShieldedColumnsSkipNothing checks that the policy alone determines which row
// groups are read, whatever the statement asks for and however it is read.
func TestShieldedColumnsSkipNothing(t *testing.T) {
	table := newGroupedTable(t)
	skipped := 0
	for k, statements := range askedOfGroups {
		for i, text := range statements {
			threads := 1 + i%2
			for group := range groups {
				read, inPlace := table.reads(t, table.sources[group], text, true, threads)
				require.Equal(t, group != hiddenGroup, read, "group %d: %s, %d threads", group, text, threads)
				require.Equal(t, k == 0, inPlace, text)
			}
			if read, _ := table.reads(t, table.sources[groups], text, false, threads); !read {
				skipped++
			}
		}
	}
	// Without a shield most of these statements reveal where hidden rows are.
	require.Greater(t, skipped, 20)
}
