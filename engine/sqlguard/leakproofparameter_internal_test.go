package sqlguard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/constant"
	"github.com/lakewarden/lakewarden/engine/sqlguard/leakproof"
)

// parameterValues are arguments by the kind of the columns that they stand beside.
var parameterValues = map[string][]any{
	"boolean": {true}, "integer": {int64(2), int64(-9223372036854775808), json.Number("2.5")},
	"decimal": {json.Number("0.05"), json.Number("-99999999999999999999"), int64(7)},
	"double":  {int64(3), json.Number("0.25")}, "text": {"day", "SECRET-7", "", "2020-01-01"}, "date": {"2020-01-05", "0001-01-01"},
	"timestamp": {"2020-01-05", "2020-01-05 10:00:00.5"}, "instant": {"2020-01-05", "2020-01-05 10:00:00+02"},
}

// TestLeakProofParameters tries parameters beside extreme hidden values, in every
// place in turn: answers do not tell of them, and are those of copies.
func TestLeakProofParameters(t *testing.T) {
	w := newTwoWorlds(t, 1)
	for _, kind := range slices.Sorted(maps.Keys(parameterValues)) {
		t.Run(kind, func(t *testing.T) {
			for i, value := range parameterValues[kind] {
				w.args = engine.Args{Positional: []any{value}}
				var all []string
				for k, c := range ofKind(kind) {
					op := []string{"=", "<>", "<", ">="}[(i+k)%4]
					all = append(all, fmt.Sprintf("%s %s $1", c, op), fmt.Sprintf("%s BETWEEN $1 AND $1", c), fmt.Sprintf("%s IN ($1)", c))
				}
				plain, leaks := w.try(t, leakproof.Default, all, 1)
				require.Greater(t, plain, len(all)/2, "%v", value)
				require.Empty(t, leaks)
				for _, e := range all {
					w.sameAsCopies(t, "SELECT id, v_s FROM t WHERE "+e+" ORDER BY id")
				}
			}
		})
	}
	w.args = engine.Args{}
}

// TestParametersThatNeedCopies: what is not known to be proved for every value of
// its kind is not proved.
func TestParametersThatNeedCopies(t *testing.T) {
	w := newTwoWorlds(t, 1)
	for text, values := range map[string][]any{
		"SELECT count(*) FROM t WHERE v_d = $1":               {"tomorrow", "2020-01-01 10:00:00", int64(1), true},
		"SELECT count(*) FROM t WHERE v_ts = $1":              {"2020-13-01", "2020-01-05 10:00:00+02"},
		"SELECT count(*) FROM t WHERE v_i32 = $1":             {"2", true, float64(2), json.Number("1e3"), []any{int64(1)}},
		"SELECT count(*) FROM t WHERE v_s = $1":               {int64(1), []string{"a"}},
		"SELECT count(*) FROM t WHERE v_i64 * $1 > 0":         {int64(2)},
		"SELECT count(*) FROM t WHERE v_s LIKE $1":            {"a%"},
		"SELECT count(*) FROM t WHERE substr(v_s, $1) = 'a'":  {int64(1)},
		"SELECT count(*) FROM t WHERE CAST($1 AS DATE) < v_d": {"2020-01-05"},
	} {
		for _, value := range values {
			q := parseFor(t, text)
			reason, ok := q.LeakProof(w.relations(q, 0), engine.Args{Positional: []any{value}})
			require.False(t, ok, "%s with %v", text, value)
			require.NotEmpty(t, reason)
		}
	}
}

// TestProofFollowsFromKinds: arguments of one kind are proved alike, so that a
// plan made for the first serves the others.
func TestProofFollowsFromKinds(t *testing.T) {
	w := newTwoWorlds(t, 1)
	values := []any{nil, 1.5, "2020-02-30"}
	for _, more := range parameterValues {
		values = append(values, more...)
	}
	for _, c := range hiddenSchema() {
		q := parseFor(t, "SELECT count(*) FROM t WHERE "+c.Name+" = $1 OR "+c.Name+" IN ($1)")
		proved := map[string]string{}
		for _, value := range values {
			args := engine.Args{Positional: []any{value}}
			reason, _ := q.LeakProof(w.relations(q, 0), args)
			kind := q.ArgumentKinds(args)
			require.NotContains(t, kind, "2020")
			if known, seen := proved[kind]; seen {
				require.Equal(t, known, reason, "%s beside %v", c.Name, value)
			}
			proved[kind] = reason
		}
		require.Greater(t, len(proved), 6)
	}
}

// TestParametersAreTypedAsProved: the engine gives arguments the types that the
// proof reckons with.
func TestParametersAreTypedAsProved(t *testing.T) {
	w := newTwoWorlds(t, 1)
	for _, value := range []any{true, int64(5), "a", json.Number("5"), json.Number("0.05"), json.Number("-12.50"),
		json.Number("99999999999999999999")} {
		args := engine.Args{Positional: []any{value}}
		res, err := w.sessions[0].Query(t.Context(), engine.Statement{SQL: "SELECT $1 AS e", Args: args})
		require.NoError(t, err)
		got := res.Columns()[0].Type
		require.NoError(t, res.Close())
		q := parseFor(t, "SELECT $1 AS e")
		typ, _, err := leakproof.Default.Expression(q.query().Nodes("select_list")[0], leakproof.Table{}, constant.ArgumentsOf(args))
		require.NoError(t, err)
		require.Equal(t, typ, got)
	}
}
