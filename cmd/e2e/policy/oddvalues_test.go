package policy_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestOddHiddenValuesStopNoWork checks that no value of a hidden row makes an optimize, a change or a
// merge fail, which would tell that the value is there: the values are the ends of each type, and texts
// that SQL cannot write as they are.
func TestOddHiddenValuesStopNoWork(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	columns := []column{{"id", "long"}, {"tenant", "string"}, {"v", ""}}
	for typ, values := range map[string][]string{
		"string":        {"chr(0)", "'a' || chr(0) || chr(39)", "''", "chr(1114111)"},
		"double":        {"'nan'::DOUBLE", "'-infinity'::DOUBLE", "-0.0::DOUBLE"},
		"timestamp":     {"'294246-12-31 00:00:00+00'::TIMESTAMPTZ", "'290300-01-01 (BC) 00:00:00+00'::TIMESTAMPTZ"},
		"timestamp_ntz": {"'294246-12-31 00:00:00'::TIMESTAMP", "'290300-01-01 (BC) 00:00:00'::TIMESTAMP"},
		"date":          {"'5881580-07-10'::DATE", "'5877642-06-25 (BC)'::DATE"},
		"long":          {"'-9223372036854775808'::BIGINT"}, "decimal(38,0)": {"'-99999999999999999999999999999999999999'::DECIMAL(38,0)"},
	} {
		for i, value := range values {
			name := "odd_" + strings.TrimRight(typ, "()0,38") + strconv.Itoa(i)
			columns[2][1] = typ
			s.Table(name, "SELECT 1 AS id, 'a' AS tenant, NULL AS v UNION ALL SELECT 2, 'a', NULL UNION ALL SELECT 3, 'b', "+value, nil, columns...)
			path := s.TablePath(name)
			s.Policy(name, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
			caller := s.Member(name+"@acme.example", "builder", map[string]string{"tenant": "a"})
			for _, r := range []harness.Reply{
				caller.Call("POST", path+"/rows/update", object{"where": "id = 1", "set": object{"id": "10"}}),
				caller.Call("POST", path+"/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 2, "tenant": "a"}}}),
				caller.Call("POST", path+"/optimize", object{"zorder_by": list{"v", "id"}}),
				caller.Call("POST", path+"/optimize", object{"zorder_by": list{"v"}}),
				caller.Call("POST", path+"/rows/delete", object{"where": "id = 10"}),
			} {
				require.Equal(t, 200, r.Status, "%s %s: %s", typ, value, r.Body)
			}
		}
	}
}
