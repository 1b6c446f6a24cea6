package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// renameElsewhere renames a column without changing any policy, as another writer does, or
// a server that stops right after the commit.
func renameElsewhere(t *testing.T, dir, column, name string) {
	t.Helper()
	bucket, err := file.New(dir)
	require.NoError(t, err)
	snap, err := delta.Load(t.Context(), bucket, delta.Options{})
	require.NoError(t, err)
	a := snap.Alter()
	require.NoError(t, a.RenameColumn([]string{column}, name))
	change, err := a.Change()
	require.NoError(t, err)
	txn := snap.Begin(delta.Operation{Name: "RENAME COLUMN"})
	txn.Alter(change)
	_, err = txn.Commit(t.Context())
	require.NoError(t, err)
}

// TestRenamedColumnOfAPolicyClosesTheTable: another writer renames a column that a
// policy hides or masks. What the policy protects is shown under no name.
func TestRenamedColumnOfAPolicyClosesTheTable(t *testing.T) {
	s := startServer(t, nil)
	columns := []column{{"id", "long"}, {"ssn", "string"}, {"part", "string"}}
	const rows = `SELECT i AS id, 'SECRET-' || i AS ssn, 'p' AS part FROM range(3) t(i)`
	org := "/v1/organisations/" + s.boot.OrganisationID
	vic := s.member("vic@acme.example", "viewer", nil)
	other := s.table("other", rows, nil, columns...)
	s.rule("cls", "", "ssn", viewersNot)
	for kind, definition := range map[string]string{"cls": viewersNot, "mask": `{"effect":"forbid","subject":{"role":"viewer"},"mask":"last4"}`} {
		name := "people_" + kind
		dir := s.table(name, rows, nil, columns...)
		p := s.rule(kind, name, "ssn", definition)
		path, from := s.tablePath(name), " FROM "+s.schema+"."+name
		former := s.admin.version(path)
		renameElsewhere(t, dir, "ssn", "anything")
		closed := func(r reply) {
			t.Helper()
			code, _ := r.problem(t, 409)
			require.Equal(t, "policy_not_usable", code, "%s", r.body)
			require.NotContains(t, string(r.body), "SECRET")
		}
		for _, c := range []*client{vic, s.admin} {
			closed(c.query("SELECT *" + from))
			closed(c.query("SELECT id" + from))
			closed(c.query("SELECT anything" + from))
			closed(c.query(fmt.Sprintf("SELECT *%s AT (VERSION => %.0f)", from, former)))
			closed(c.call("GET", path+"/rows", nil))
			closed(c.call("GET", path+"/columns", nil))
		}
		require.Empty(t, vic.rows("SELECT column_name FROM information_schema.columns WHERE table_name = '"+name+"'"), "a closed table has no columns")
		closed(s.admin.call("PATCH", path+"/columns/anything", object{"name": "harmless"}))
		closed(s.admin.call("DELETE", path+"/columns/anything", nil))
		closed(s.admin.call("POST", path+"/rows", object{"rows": list{object{"id": 9}}}))
		closed(s.admin.call("POST", path+"/restore", object{"version": former}))

		// Corrected, the policy protects the column under its new name. The one of
		// every table goes by names alone.
		patch := object{"columnName": "anything", "expectedVersion": 1}
		s.admin.ok("PATCH", org+"/policies/"+p["id"].(string), patch)
		got := vic.query("SELECT *" + from)
		require.Equal(t, 200, got.status, "%s", got.body)
		require.NotContains(t, string(got.body), "SECRET")
		require.Contains(t, string(s.admin.query("SELECT *"+from).body), "SECRET")
	}
	// A policy of every table concerns those that have its column.
	renameElsewhere(t, other, "ssn", "anything")
	require.Equal(t, 200, vic.query("SELECT * FROM "+s.schema+".other").status)
}

// TestRenamesRacePolicies renames a column on one server while a mask for it is
// stored on another, over and over: the mask is refused, follows the column, or
// closes the table. Nobody for whom the column is masked ever sees a value of it.
func TestRenamesRacePolicies(t *testing.T) {
	url := pgtest.URL(t)
	s := startServer(t, func(c *settings) { c.DatabaseURL = url })
	s.table("people", `SELECT i AS id, 'SECRET-' || i AS c0 FROM range(3) t(i)`, nil, column{"id", "long"}, column{"c0", "string"})
	twin := &testServer{t: t, config: s.config, log: s.log, logged: s.logged}
	twin.config.DataDir = filepath.Join(t.TempDir(), "twin")
	twin.start()
	vic := s.member("vic@acme.example", "viewer", nil)
	there := twin.client(vic.key, vic.user)
	admin := twin.client(s.admin.key, s.admin.user)
	path, policies := s.tablePath("people"), "/v1/organisations/"+s.boot.OrganisationID+"/policies"
	statement := "SELECT * FROM " + s.schema + ".people"

	name, outcomes := "c0", map[string]int{}
	for i := range 200 {
		next := fmt.Sprintf("c%d", i+1)
		var renamed, stored reply
		var wg sync.WaitGroup
		wg.Go(func() { renamed = s.admin.call("PATCH", path+"/columns/"+name, object{"name": next}) })
		wg.Go(func() {
			stored = admin.call("POST", policies, object{
				"kind": "mask", "tableFqn": "lake." + s.schema + ".people", "columnName": name,
				"definition": object{"effect": "forbid", "subject": object{"role": "viewer"}, "mask": "null"},
			})
		})
		wg.Wait()
		masked := stored.status < 300
		for _, c := range []*client{vic, there} {
			got := c.query(statement)
			switch {
			case !masked:
				require.Contains(t, string(got.body), "SECRET")
			case got.status == 200:
				require.NotContains(t, string(got.body), "SECRET")
				outcomes["masked"]++
			default:
				code, _ := got.problem(t, 409)
				require.Equal(t, "policy_not_usable", code)
				outcomes["closed"]++
			}
		}
		require.Equal(t, 200, renamed.status, "%s", renamed.body)
		if !masked {
			code, fields := stored.problem(t, 422)
			require.Equal(t, "invalid_field columnName", code+" "+strings.Join(fields, " "))
			outcomes["renamed"]++
		} else {
			p := policies + "/" + stored.json(t)["id"].(string)
			version := admin.ok("GET", p, nil)["version"].(float64)
			require.Less(t, admin.call("DELETE", fmt.Sprintf("%s?expectedVersion=%.0f", p, version), nil).status, 300)
		}
		name = next
	}
	t.Logf("%v", outcomes)
}
