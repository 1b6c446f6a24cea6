package analysistest

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
)

// relation is the name of the table in statements.
const relation = `"lake"."sales"."t"`

var (
	sharedParser = sync.OnceValue(duckdb.NewParser)
	sharedEngine = sync.OnceValues(func() (*duckdb.Engine, error) {
		return duckdb.New(context.Background(), duckdb.Options{Extensions: []string{}})
	})
)

// Lake is a table with one or more versions. It is for one goroutine.
type Lake struct {
	tb       testing.TB
	session  engine.Session
	dir      string
	versions []version
	// Statements are the statements that ran.
	Statements []string
}

// version is one version of the table.
type version struct {
	columns []engine.Column
	source  engine.Source
}

// New returns a table whose versions, from 0, have the rows of the SELECT statements. Each
// statement may use anything that DuckDB serves without files.
func New(tb testing.TB, versions ...string) *Lake {
	tb.Helper()
	e, err := sharedEngine()
	require.NoError(tb, err)
	l := &Lake{tb: tb, dir: tb.TempDir()}
	l.session, err = e.Open(tb.Context(), engine.SessionOptions{Scratch: l.dir})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, l.session.Close()) })
	for i, sql := range versions {
		l.versions = append(l.versions, l.write(i, sql))
	}
	return l
}

func (l *Lake) write(number int, sql string) version {
	l.tb.Helper()
	result, err := l.session.Query(l.tb.Context(), engine.Statement{SQL: "SELECT * FROM (" + sql + ") LIMIT 0"})
	require.NoError(l.tb, err)
	v := version{columns: result.Columns()}
	require.NoError(l.tb, result.Close())
	folder := "v" + strconv.Itoa(number)
	files, err := l.session.(engine.Writer).Write(l.tb.Context(), engine.WriteStatement{
		Statement: engine.Statement{SQL: sql}, Dir: folder, Layout: engine.ScratchLayout(),
	})
	require.NoError(l.tb, err)
	groups := make([]engine.FileGroup, len(files))
	for i, f := range files {
		groups[i] = engine.FileGroup{Paths: []string{f.Name}}
	}
	v.source = engine.Source{Location: filepath.Join(l.dir, folder), Version: int64(number), Identity: folder,
		Files: engine.NewFileList(v.columns, true, groups)}
	return v
}

// Input returns the input of an analysis of the newest version. change, if not nil, adjusts
// it.
func (l *Lake) Input(change func(*analysis.Input)) analysis.Input {
	l.tb.Helper()
	newest := l.table(len(l.versions) - 1)
	in := analysis.Input{
		Table: newest, Columns: newest.Columns, Query: l.query, Progress: func(int, int) {}, Limit: 20,
		Older: func(_ context.Context, version int64) (analysis.Table, error) { return l.table(int(version)), nil },
	}
	if change != nil {
		change(&in)
	}
	return in
}

func (l *Lake) table(number int) analysis.Table {
	t := analysis.Table{Relation: relation, Name: "sales.t", Version: int64(number)}
	for _, c := range l.versions[number].columns {
		t.Columns = append(t.Columns, analysis.Column{Name: c.Name, Type: c.Type, Nullable: true})
	}
	return t
}

// query runs a statement as the server does: parsed, checked, printed and bound to the
// version that it names.
func (l *Lake) query(ctx context.Context, sql string) (engine.Result, error) {
	l.Statements = append(l.Statements, sql)
	statement, err := sqlguard.Parse(ctx, sharedParser(), sql, sqlguard.Options{Catalog: "lake", EngineVersion: duckdb.Version()})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, sql)
	}
	relations := make([]sqlguard.Relation, len(statement.Tables()))
	for i, ref := range statement.Tables() {
		v := l.versions[len(l.versions)-1]
		if ref.AtVersion != nil {
			v = l.versions[*ref.AtVersion]
		}
		relations[i] = sqlguard.Relation{Columns: v.columns, Source: v.source}
	}
	plan, err := statement.Bind(ctx, sharedParser(), relations)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, sql)
	}
	result, err := l.session.Query(ctx, engine.Statement{SQL: plan.SQL, Sources: plan.Sources, Barriers: plan.Barriers})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, sql)
	}
	return result, nil
}

// Count returns the BIGINT of a statement over the versions, for expectations.
func (l *Lake) Count(sql string) int64 {
	l.tb.Helper()
	n, err := l.Input(nil).Count(l.tb.Context(), sql)
	require.NoError(l.tb, err)
	return n
}
