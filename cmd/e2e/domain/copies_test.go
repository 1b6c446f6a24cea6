package domain_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// copied makes a copy of the table t below a personal configuration of the client.
func copied(t *testing.T, s *harness.Server, c *harness.Client, name string) (path string) {
	own := s.Config.LocalRoots[0] + "/" + name
	require.NoError(t, os.CopyFS(filepath.Join(own, "t"), os.DirFS(filepath.Join(s.Root, "t"))))
	r := c.Call("POST", harness.ConfigsPath, object{"configName": name, "kind": "local", "root": own})
	require.Equal(t, 201, r.Status, "%s", r.Body)
	config := r.JSON(t)
	c.OK("POST", harness.ConfigsPath+"/"+config["configId"].(string)+"/discover", nil)
	return "/v1/tables/lake/" + config["schema"].(string) + "/t"
}

// A user who can store a table can give it the id of another one.
func TestACopyDoesNotGovernTheDomainsOfItsOriginal(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT * FROM (VALUES (1, 'x', 's'), (2, 'y', 's')) t(id, state, secret)`, nil, column{"id", "long"},
		column{"state", "string"}, column{"secret", "string"})
	path := s.TablePath("t")
	at := copied(t, s, s.Admin, "mine")
	got := s.Admin.OK("PUT", path+"/columns/state/domain/fixed", object{"values": list{"x", "y"}})
	values := ids(got["domain"].(object)["allowed_values"])
	s.Admin.OK("PUT", path+"/columns/secret/domain/fixed", object{"values": list{"s"}})
	state := at + "/columns/state/domain"
	refused(t, s.Admin, 409, "table_id_ambiguous", "PATCH", state+"/values/"+values["x"], object{"value": "z"})
	refused(t, s.Admin, 409, "table_id_ambiguous", "DELETE", state+"/values/"+values["x"], nil)
	refused(t, s.Admin, 409, "table_id_ambiguous", "DELETE", state, nil)
	refused(t, s.Admin, 409, "table_id_ambiguous", "PUT", state+"/fixed", object{"values": list{"z"}})

	rows := func(path string) list {
		return s.Admin.Rows("SELECT state FROM " + strings.Split(path, "/")[4] + ".t ORDER BY id")
	}
	s.Admin.OK("PATCH", path+"/columns/state/domain/values/"+values["x"], object{"value": "z"})
	require.Equal(t, []any{list{list{"z"}, list{"y"}}, list{list{"x"}, list{"y"}}}, []any{rows(path), rows(at)})
	refused(t, s.Admin, 422, "rule_violation", "POST", at+"/rows", harness.RowsOf(object{"id": 3, "state": "x"}))

	// The rule hides the column by its name, which another one has in the copy.
	s.Admin.OK("PATCH", at+"/columns/secret", object{"name": "open"})
	s.Admin.OK("POST", at+"/columns", object{"name": "secret", "type": "string"})
	s.Admin.OK("GET", at+"/columns/open/domain", nil)
	s.Rule("cls", "t", "secret", `{"effect":"forbid","subject":{"role":"admin"}}`)
	for _, at := range []string{path + "/columns/secret", at + "/columns/open"} {
		refused(t, s.Admin, 404, "not_found", "GET", at+"/domain", nil)
		refused(t, s.Admin, 404, "not_found", "GET", at+"/allowed-values", nil)
		refused(t, s.Admin, 404, "not_found", "GET", at+"/domain/in-use?value=s", nil)
	}
}
