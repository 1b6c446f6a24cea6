package query

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// TestEveryFieldOfARelationIsInTheKey changes each field in turn. If the key lacked one,
// a caller could get a plan with rows of another caller.
func TestEveryFieldOfARelationIsInTheKey(t *testing.T) {
	base := sqlguard.Relation{
		Columns: []engine.Column{{Name: "a", Type: sqltype.BigInt}}, Source: engine.Source{Location: "/t", Version: 1, Identity: "i"},
		Condition: engine.Condition{Column: "a", Values: []engine.ConditionValue{"1"},
			Children: []engine.Condition{{Column: "b", Values: []engine.ConditionValue{"2"}, Children: []engine.Condition{{}}}}},
		Predicate: "p", ColumnExpr: map[string]string{"a": "e"}, Secrets: map[string]string{"a": "s"},
	}
	seen := map[string]string{relationsKey([]sqlguard.Relation{base}): "base", relationsKey(nil): "nothing",
		relationsKey([]sqlguard.Relation{base, base}): "twice"}
	var walk func(path string, v reflect.Value, relation func() sqlguard.Relation)
	check := func(path string, changed sqlguard.Relation) {
		key := relationsKey([]sqlguard.Relation{changed})
		require.NotContains(t, seen, key, path)
		seen[key] = path
	}
	walk = func(path string, v reflect.Value, relation func() sqlguard.Relation) {
		switch v.Kind() {
		case reflect.Pointer:
			require.True(t, v.IsNil())
			values := []any{engine.NewFileList(base.Columns, true, nil), engine.NewFileList(base.Columns, false, nil)}
			if v.Type() == reflect.TypeFor[*sqlguard.InlineRows]() {
				values = []any{sqlguard.NewInlineRows(base.Columns, nil), sqlguard.NewInlineRows(base.Columns, [][]any{{int64(1)}})}
			}
			for i, value := range values {
				v.Set(reflect.ValueOf(value))
				check(fmt.Sprint(path, " ", i), relation())
			}
			v.SetZero()
		case reflect.Func:
			v.Set(reflect.ValueOf(func(engine.Condition, engine.Condition) engine.Source { return engine.Source{} }))
			check(path, relation())
			v.SetZero()
		case reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, v.Field(i), relation)
			}
		case reflect.Slice:
			if v.Len() > 0 {
				walk(path+"[0]", v.Index(0), relation)
			}
		case reflect.Map:
			old := v.MapIndex(reflect.ValueOf("a"))
			v.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf("other"))
			check(path, relation())
			v.SetMapIndex(reflect.ValueOf("a"), old)
		case reflect.String:
			old := v.String()
			v.SetString(old + "!")
			check(path, relation())
			v.SetString(old)
		case reflect.Interface:
			old := v.Interface()
			v.Set(reflect.ValueOf(sqltype.List{Element: old.(sqltype.Type)}))
			check(path, relation())
			v.Set(reflect.ValueOf(old))
		case reflect.Int64, reflect.Int:
			v.SetInt(v.Int() + 1)
			check(path, relation())
			v.SetInt(v.Int() - 1)
		case reflect.Bool:
			v.SetBool(!v.Bool())
			check(path, relation())
			v.SetBool(!v.Bool())
		default:
			t.Fatalf("%s is of a kind that the key does not know: %s", path, v.Kind())
		}
	}
	walk("Relation", reflect.ValueOf(&base).Elem(), func() sqlguard.Relation { return base })
	require.Len(t, seen, 3+29)
}

func TestFieldsDoNotRunTogether(t *testing.T) {
	require.NotEqual(t, statementKey("ab", sqlguard.Options{Catalog: "c"}), statementKey("a", sqlguard.Options{Catalog: "bc"}))
	require.NotEqual(t, statementKey("a", sqlguard.Options{User: "u"}), statementKey("a", sqlguard.Options{Version: "u"}))
}

// oneParameter is a parser that answers with the tree of SELECT $1.
type oneParameter struct{}

func (oneParameter) Serialize(context.Context, string) ([]byte, error) {
	return []byte(`{"error":false,"statements":[{"node":{"type":"SELECT_NODE","modifiers":[],"cte_map":{"map":[]},
		"select_list":[{"class":"PARAMETER","type":"VALUE_PARAMETER","alias":"one","identifier":"1"}],
		"from_table":{"type":"EMPTY","alias":"","sample":null},"where_clause":null,"group_expressions":[],"group_sets":[],
		"aggregate_handling":"STANDARD_HANDLING","having":null,"sample":null,"qualify":null},"named_param_map":[{"key":"1","value":1}]}]}`), nil
}

func (oneParameter) Deserialize(context.Context, []byte) (string, error) {
	return "SELECT $1 AS one", nil
}

// TestPlansServeAllValuesOfAKind checks that the key holds the kinds of the arguments but
// not their values.
func TestPlansServeAllValuesOfAKind(t *testing.T) {
	statement, err := sqlguard.Parse(t.Context(), oneParameter{}, "SELECT $1", sqlguard.Options{})
	require.NoError(t, err)
	key := func(values ...any) string {
		return planKey(statement, Statement{SQL: "SELECT $1", Args: engine.Args{Positional: values}}, sqlguard.Options{}, nil)
	}
	require.Equal(t, key(int64(1)), key(int64(2)))
	require.Equal(t, key("a"), key("b"))
	seen := map[string]bool{}
	for _, value := range []any{nil, int64(1), "a", "2024-01-01", 1.5, true, []any{int64(1)}} {
		require.False(t, seen[key(value)], "%v", value)
		seen[key(value)] = true
	}
}

type provedPlan struct{ rowByRow, conditions bool }

func (p provedPlan) RowByRow() bool      { return p.rowByRow }
func (p provedPlan) HasConditions() bool { return p.conditions }

// TestRepeatedStatementsReadCopies checks that copies are used only where the caller can
// observe nothing but the time.
func TestRepeatedStatementsReadCopies(t *testing.T) {
	const most = 2 << 20
	filtered := sqlguard.Relation{Filtered: true, Bytes: 1 << 20}
	changed := func(change func(*sqlguard.Relation)) []sqlguard.Relation {
		r := filtered
		change(&r)
		return []sqlguard.Relation{r}
	}
	shielded := changed(func(r *sqlguard.Relation) { r.Shielded = true })
	passes, withConditions := provedPlan{rowByRow: true}, provedPlan{rowByRow: true, conditions: true}
	one, same := engine.Args{Positional: []any{int64(1)}}, []sqlguard.Relation{filtered}
	for name, c := range map[string]struct {
		relations []sqlguard.Relation
		made      provedPlan
		args      engine.Args
		want      bool
	}{
		"an argument":                {same, passes, one, true},
		"a named argument":           {same, passes, engine.Args{Named: map[string]any{"a": "b"}}, true},
		"no argument":                {same, withConditions, engine.Args{}, false},
		"a constant, of a shielded":  {shielded, withConditions, engine.Args{}, true},
		"all rows of a shielded":     {shielded, passes, engine.Args{}, false},
		"not proved":                 {same, provedPlan{}, one, false},
		"a shielded one, not proved": {shielded, provedPlan{conditions: true}, engine.Args{}, false},
		"two tables":                 {[]sqlguard.Relation{filtered, filtered}, passes, one, false},
		"unfiltered":                 {changed(func(r *sqlguard.Relation) { r.Filtered = false }), passes, one, false},
		"copied anyway":              {changed(func(r *sqlguard.Relation) { r.NoPushdown = true }), passes, one, false},
		"as large as a copy can be":  {changed(func(r *sqlguard.Relation) { r.Bytes = most }), passes, one, true},
		"larger than a copy can be":  {changed(func(r *sqlguard.Relation) { r.Bytes = most + 1 }), passes, one, false},
	} {
		require.Equal(t, c.want, copyPays(c.relations, c.made, c.args, most), name)
	}
}

// TestThePlanOverACopyIsMadeOnce checks that runs share the plan unless it names too many
// files, and that results are rebatched.
func TestThePlanOverACopyIsMadeOnce(t *testing.T) {
	statement, err := sqlguard.Parse(t.Context(), oneParameter{}, "SELECT $1", sqlguard.Options{})
	require.NoError(t, err)
	made, err := statement.Prepare(t.Context(), oneParameter{}, nil, engine.Args{})
	require.NoError(t, err)
	form := newCopiedForm(made, nil, engine.Args{})
	require.True(t, form.plan.Rebatch)
	require.Same(t, form.plan, form.run(nil, engine.Args{Positional: []any{int64(2)}}))

	long := &copiedForm{Prepared: made} // one that names too many files
	require.True(t, long.run(nil, engine.Args{}).Rebatch)
	require.NotSame(t, long.run(nil, engine.Args{}), long.run(nil, engine.Args{}))
	for _, files := range []int{0, 1, maxPlanFiles} {
		list := engine.NewFileList(nil, true, []engine.FileGroup{{Paths: make([]string, files)}})
		require.Equal(t, 2*files, listedFiles(&sqlguard.Plan{Sources: []engine.Source{{Files: list}, {}, {Files: list}}}))
	}
}

// What is remembered for every run is not changed by one that asks for an index.
func TestAPlanWithAnIndexIsACopy(t *testing.T) {
	plan := &sqlguard.Plan{SQL: "SELECT 1", Barriers: []engine.Barrier{{Name: "flt"}}}
	require.Equal(t, []engine.Barrier{{Name: "flt", Index: "id"}}, indexedBy(plan, "id").Barriers)
	require.Empty(t, plan.Barriers[0].Index)
}

func TestCopiesFitAnEighthOfTheMemory(t *testing.T) {
	require.Equal(t, int64(128<<20), CopyBytes(1024<<20))
}
