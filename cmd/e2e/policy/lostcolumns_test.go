package policy_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestRenamedColumnOfAPolicyClosesTheTable has another writer rename a column that a
// policy hides or masks. The protected values are shown under no name.
func TestRenamedColumnOfAPolicyClosesTheTable(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	columns := []column{{"id", "long"}, {"ssn", "string"}, {"part", "string"}}
	const rows = `SELECT i AS id, 'SECRET-' || i AS ssn, 'p' AS part FROM range(3) t(i)`
	org := "/v1/organisations/" + s.Boot.OrganisationID
	vic := s.Member("vic@acme.example", "viewer", nil)
	other := s.Table("other", rows, nil, columns...)
	s.Rule("cls", "", "ssn", harness.ViewersNot)
	for kind, definition := range map[string]string{"cls": harness.ViewersNot,
		"mask": `{"effect":"forbid","subject":{"role":"viewer"},"mask":"last4"}`} {
		name := "people_" + kind
		dir := s.Table(name, rows, nil, columns...)
		p := s.Rule(kind, name, "ssn", definition)
		path, from := s.TablePath(name), " FROM "+s.Schema+"."+name
		former := s.Admin.Version(path)
		harness.RenameElsewhere(t, dir, "ssn", "anything")
		closed := func(r harness.Reply) {
			t.Helper()
			code, _ := r.Problem(t, 409)
			require.Equal(t, "policy_not_usable", code, "%s", r.Body)
			require.NotContains(t, string(r.Body), "SECRET")
		}
		for _, c := range []*harness.Client{vic, s.Admin} {
			closed(c.Query("SELECT *" + from))
			closed(c.Query("SELECT id" + from))
			closed(c.Query("SELECT anything" + from))
			closed(c.Query(fmt.Sprintf("SELECT *%s AT (VERSION => %.0f)", from, former)))
			closed(c.Call("GET", path+"/rows", nil))
			closed(c.Call("GET", path+"/columns", nil))
		}
		require.Empty(t, vic.Rows("SELECT column_name FROM information_schema.columns WHERE table_name = '"+name+"'"),
			"a closed table has no columns")
		closed(s.Admin.Call("PATCH", path+"/columns/anything", object{"name": "harmless"}))
		closed(s.Admin.Call("DELETE", path+"/columns/anything", nil))
		closed(s.Admin.Call("POST", path+"/rows", object{"rows": list{object{"id": 9}}}))
		closed(s.Admin.Call("POST", path+"/restore", object{"version": former}))

		// Corrected, the policy protects the column under its new name. The one of
		// every table goes by names alone.
		patch := object{"columnName": "anything", "expectedVersion": 1}
		s.Admin.OK("PATCH", org+"/policies/"+p["id"].(string), patch)
		got := vic.Query("SELECT *" + from)
		require.Equal(t, 200, got.Status, "%s", got.Body)
		require.NotContains(t, string(got.Body), "SECRET")
		require.Contains(t, string(s.Admin.Query("SELECT *"+from).Body), "SECRET")
	}
	// A policy of every table concerns those that have its column.
	harness.RenameElsewhere(t, other, "ssn", "anything")
	require.Equal(t, 200, vic.Query("SELECT * FROM "+s.Schema+".other").Status)
}

// TestRenamesRacePolicies renames a column on one server while a mask for it is
// stored on another, over and over: the mask is refused, follows the column, or
// closes the table. No caller for whom the column is masked sees a value of it.
func TestRenamesRacePolicies(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := harness.Start(t, func(c *harness.Settings) { c.DatabaseURL = url })
	s.Table("people", `SELECT i AS id, 'SECRET-' || i AS c0 FROM range(3) t(i)`, nil, column{"id", "long"}, column{"c0", "string"})
	twin := &harness.Server{T: t, Config: s.Config, Log: s.Log}
	twin.Config.DataDir = filepath.Join(t.TempDir(), "twin")
	twin.Start()
	vic := s.Member("vic@acme.example", "viewer", nil)
	there := twin.Client(vic.Key, vic.User)
	admin := twin.Client(s.Admin.Key, s.Admin.User)
	path, policies := s.TablePath("people"), "/v1/organisations/"+s.Boot.OrganisationID+"/policies"
	statement := "SELECT * FROM " + s.Schema + ".people"

	name, outcomes := "c0", map[string]int{}
	for i := range 200 {
		next := fmt.Sprintf("c%d", i+1)
		var renamed, stored harness.Reply
		var wg sync.WaitGroup
		wg.Go(func() { renamed = s.Admin.Call("PATCH", path+"/columns/"+name, object{"name": next}) })
		wg.Go(func() {
			stored = admin.Call("POST", policies, object{
				"kind": "mask", "tableFqn": "lake." + s.Schema + ".people", "columnName": name,
				"definition": object{"effect": "forbid", "subject": object{"role": "viewer"}, "mask": "null"},
			})
		})
		wg.Wait()
		masked := stored.Status < 300
		for _, c := range []*harness.Client{vic, there} {
			got := c.Query(statement)
			switch {
			case !masked:
				require.Contains(t, string(got.Body), "SECRET")
			case got.Status == 200:
				require.NotContains(t, string(got.Body), "SECRET")
				outcomes["masked"]++
			default:
				code, _ := got.Problem(t, 409)
				require.Equal(t, "policy_not_usable", code)
				outcomes["closed"]++
			}
		}
		require.Equal(t, 200, renamed.Status, "%s", renamed.Body)
		if !masked {
			code, fields := stored.Problem(t, 422)
			require.Equal(t, "invalid_field columnName", code+" "+strings.Join(fields, " "))
			outcomes["renamed"]++
		} else {
			p := policies + "/" + stored.JSON(t)["id"].(string)
			version := admin.OK("GET", p, nil)["version"].(float64)
			require.Less(t, admin.Call("DELETE", fmt.Sprintf("%s?expectedVersion=%.0f", p, version), nil).Status, 300)
		}
		name = next
	}
	t.Logf("%v", outcomes)
}
