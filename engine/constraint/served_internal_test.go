package constraint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// TestUnknownPartsAreRefused uses trees as a later parser might write them.
func TestUnknownPartsAreRefused(t *testing.T) {
	tree := func(expression string) []byte {
		return []byte(`{"error":false,"statements":[{"node":{"type":"SELECT_NODE","modifiers":[],"cte_map":{"map":[]},"select_list":[` +
			expression +
			`],"from_table":{"type":"EMPTY","alias":"","sample":null},"where_clause":null,"group_expressions":[],"group_sets":[],` +
			`"aggregate_handling":"STANDARD_HANDLING","having":null,"sample":null,"qualify":null},"named_param_map":[]}]}`)
	}
	const column = `{"class":"COLUMN_REF","type":"COLUMN_REF","alias":"","column_names":["a"]}`
	_, err := onlyExpression(tree(column))
	require.NoError(t, err)
	for _, e := range []string{
		`{"class":"COLUMN_REF","type":"COLUMN_REF","alias":"b","column_names":["a"]}`,
		`{"class":"COLUMN_REF","type":"COLUMN_REF","column_names":["a"],"left":` + column + `}`,
		`{"class":"STAR","type":"STAR"}`,
		`{"class":"OPERATOR","type":"OPERATOR_NOT","children":[{"class":"NEW","type":"NEW"}]}`,
		`{"class":"CONSTANT","type":"VALUE_CONSTANT","value":{"type":{"id":"INTEGER"},"is_null":false,"value":1,"unit":"s"}}`,
		`{"class":"CASE","type":"CASE_EXPR","case_checks":[{"when_expr":` + column + `,"then_expr":` + column + `,"once":true}]}`,
		`[` + column + `]`, column + "," + column,
	} {
		_, err := onlyExpression(tree(e))
		var refused *CheckError
		require.ErrorAs(t, err, &refused, e)
	}
	e, err := onlyExpression(tree(`{"class":"OPERATOR","type":"OPERATOR_NOT","children":[null]}`))
	require.NoError(t, err)
	_, err = builder{}.tree(e, 0)
	require.ErrorIs(t, err, ErrInvalidCheck)
	_, err = builder{}.tree(sqltree.Expression("BETWEEN", "COMPARE_BETWEEN"), 0)
	require.ErrorIs(t, err, ErrInvalidCheck)
}
