package domain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// Replies do not grow with the texts in a table, and lists not with the values of domains.
func TestRepliesHaveBounds(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	path := s.Create("t", nil, harness.Col("s", "string"))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"s": strings.Repeat("x", 100_000)}))
	got := s.Admin.OK("PUT", path+"/columns/s/domain/fixed", object{"values": list{"a"}})
	require.Equal(t, object{"row_count": 1.0, "values": list{strings.Repeat("x", 1024)}}, got["outside"])

	base := "/v1/organisations/" + s.Boot.OrganisationID + "/domains"
	r := s.Admin.Call("POST", base, object{"name": "d", "type": "fixed", "values": list{"a"}})
	require.Equal(t, 201, r.Status, "%s", r.Body)
	require.Len(t, r.JSON(t)["allowed_values"], 1)
	require.Nil(t, s.Admin.OK("GET", base, nil)["domains"].(list)[0].(object)["allowed_values"])
}
