package domain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestChangesOfRowsContinueAsOperations checks that Prefer: respond-async answers a rename and
// a replacement with an operation, whose result names the column.
func TestChangesOfRowsContinueAsOperations(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("asyncchanges", nil, harness.Col("status", "string"))
	at := path + "/columns/status/domain"
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"status": "open"}, object{"status": "shut"}))
	values := ids(s.Admin.OK("PUT", at+"/fixed", object{"values": list{"open", "shut"}})["domain"].(object)["allowed_values"])

	for _, c := range []struct {
		method, path string
		body         any
		want         []string
	}{
		{"PATCH", at + "/values/" + values["open"], object{"value": "new"}, []string{"new", "shut"}},
		{"DELETE", at + "/values/" + values["shut"] + "?replace_with=new", nil, []string{"new"}},
	} {
		r := s.Admin.Call(c.method, c.path, c.body, "Prefer", "respond-async")
		require.Equal(t, 202, r.Status, "%s", r.Body)
		require.Equal(t, "respond-async", r.Header.Get("Preference-Applied"))
		done := s.Admin.Await(r.JSON(t))
		require.Equal(t, object{"column_name": "status"}, done["result"], "others may read the operation, so it has no values")
		require.Equal(t, c.want, texts(s.Admin.OK("GET", at, nil)["domain"].(object)["allowed_values"]))
	}
	require.Equal(t, 2.0, s.Admin.Count(s.Schema+".asyncchanges WHERE status = 'new'"))
}
