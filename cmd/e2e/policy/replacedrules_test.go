package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// TestRulesCloseVersionsOfAReplacedTable checks that a policy about either table closes
// the versions to callers from whom it hides anything, on every path and with the same
// error.
func TestRulesCloseVersionsOfAReplacedTable(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	policies := "/v1/organisations/" + s.Boot.OrganisationID + "/policies"
	remove := func(p object) {
		require.Less(t, s.Admin.Call("DELETE", fmt.Sprintf("%s/%s?expectedVersion=%v", policies, p["id"], p["version"]), nil).Status, 300)
	}
	toggle := func(p object, on bool) object {
		return s.Admin.OK("PATCH", policies+"/"+p["id"].(string), object{"enabled": on, "expectedVersion": p["version"]})
	}
	const own = `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`
	const admins = `{"effect":"permit","subject":{"role":"admin"},"condition":null}`
	rows := func(table string) []object {
		return []object{s.Policy(table, "tenant", own), s.Policy(table, "", admins)}
	}
	type rules struct {
		// before is made before the replacement, after once it was adopted.
		before func(table string) []object
		after  func(table string, before []object)
		open   bool
	}
	one := func(kind, column string) func(string) []object {
		return func(table string) []object {
			return []object{s.Rule(kind, table, column, harness.ViewersNot)}
		}
	}
	for name, c := range map[string]rules{
		"rows":             {before: rows},
		"hidden":           {before: one("cls", "ssn")},
		"masked":           {before: one("mask", "ssn")},
		"deleted":          {before: rows, after: func(_ string, made []object) { remove(made[0]); remove(made[1]) }},
		"deleted_backward": {before: rows, after: func(_ string, made []object) { remove(made[1]); remove(made[0]) }},
		"one_deleted":      {before: rows, after: func(_ string, made []object) { remove(made[0]) }},
		"hidden_deleted":   {before: one("cls", "ssn"), after: func(_ string, made []object) { remove(made[0]) }},
		"moved": {before: one("cls", "ssn"), after: func(table string, made []object) {
			s.Admin.OK("PATCH", policies+"/"+made[0]["id"].(string), object{
				"tableFqn": "lake." + s.Schema + "." + table, "columnName": "word",
				"definition": object{"effect": "forbid", "subject": object{"role": "builder"}}, "expectedVersion": made[0]["version"],
			})
		}},
		"current_rows":   {after: func(table string, _ []object) { s.Policy(table, "", admins) }},
		"current_hidden": {after: func(table string, _ []object) { s.Rule("cls", table, "word", harness.ViewersNot) }},
		"current_masked": {after: func(table string, _ []object) { s.Rule("mask", table, "word", harness.ViewersNot) }},
		"switched_on": {before: func(table string) []object {
			return []object{toggle(one("cls", "ssn")(table)[0], false)}
		}, after: func(_ string, made []object) { toggle(made[0], true) }},
		"switched_off": {before: one("cls", "ssn"), after: func(_ string, made []object) { toggle(made[0], false) }, open: true},
		"none":         {open: true},
	} {
		t.Run(name, func(t *testing.T) {
			s.T, s.Admin.T = t, t
			dir := replacedTable(s, name)
			at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
			for v := range 2 {
				require.NoError(t, os.Chtimes(filepath.Join(dir, logpath.CommitName(int64(v))), at.Add(time.Duration(v)*time.Second),
					at.Add(time.Duration(v)*time.Second)))
			}
			path := s.TablePath(name)
			viewer := s.Member(name+"@acme.example", "viewer", map[string]string{"tenant": "a"})
			builder := s.Member(name+"-b@acme.example", "builder", map[string]string{"tenant": "a"})
			token := viewer.OK("GET", path+"/rows?page_size=4", nil)["next_page_token"].(string)
			var before []object
			if c.before != nil {
				before = c.before(name)
			}
			replaceWithWords(s, name)
			if s.Discover(); s.Admin.Call("GET", path, nil).Status != 200 {
				for key, r := range readingReplaced(s, s.Admin, name, token) {
					code, _ := r.Problem(t, 409)
					require.Equal(t, "table_identity_changed", code, key)
				}
				s.Admin.Call("GET", path+"/history", nil).Problem(t, 409)
				s.Adopt(name, false)
			}
			if c.after != nil {
				c.after(name, before)
			}
			refusal := ""
			for key, r := range readingReplaced(s, viewer, name, token) {
				switch {
				case key == "restore" || key == "restored": // not for viewers
				case c.open && key == "unknown":
					require.Equal(t, 400, r.Status, "%s: %s", key, r.Body)
				case c.open:
					require.Equal(t, 200, r.Status, "%s: %s", key, r.Body)
				default:
					code, fields := r.Problem(t, 403)
					require.Equal(t, "forbidden", code, key)
					require.Equal(t, []string{"table"}, fields, key)
					body := r.JSON(t)
					delete(body, "request_id")
					if refusal == "" {
						refusal = fmt.Sprint(body)
					}
					require.Equal(t, refusal, fmt.Sprint(body), key)
				}
			}
			if name == "rows" || name == "deleted" || name == "deleted_backward" || name == "current_rows" {
				for key, r := range readingReplaced(s, builder, name, token) {
					r.Problem(t, 403)
					require.NotContains(t, string(r.Body), "SECRET", key)
				}
			}
			for _, e := range viewer.OK("GET", path+"/history", nil)["versions"].([]any) {
				entry := e.(object)
				closed := !c.open && (entry["version"].(float64) < 2 || strings.HasPrefix(name, "current"))
				require.Equal(t, closed, entry["operationParameters"] == nil, "%v", entry)
				require.True(t, !closed || entry["operationMetrics"] == nil && entry["isBlindAppend"] == nil, "%v", entry)
			}
			for i := 1; i < 3; i++ { // the same, where the page does not state the table's id
				token := viewer.OK("GET", fmt.Sprintf("%s/history?page_size=%d", path, i), nil)["nextPageToken"]
				entry := viewer.OK("GET", fmt.Sprintf("%s/history?page_size=1&page_token=%s", path, token), nil)["versions"].([]any)[0].(object)
				require.Equal(t, float64(2-i), entry["version"])
				require.Equal(t, !c.open, entry["operationParameters"] == nil, "%v", entry)
			}

			require.Equal(t, 10.0, s.Admin.Count(s.Schema+"."+name+" AT (VERSION => 1)"), "administrators see all of both")
			if name != "current_hidden" && name != "current_masked" && name != "moved" { // a policy names a column that the version lacks
				s.Admin.OK("POST", path+"/restore", object{"version": 1})
				require.Equal(t, 10.0, s.Admin.Count(s.Schema+"."+name))
			}
		})
		s.T, s.Admin.T = t, t
	}
}

// TestResultsOfAReplacedTableFollowItsPolicies checks that a stored result of a version of
// a replaced table is shown only while no policy about that table hides anything.
func TestResultsOfAReplacedTableFollowItsPolicies(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	policies := "/v1/organisations/" + s.Boot.OrganisationID + "/policies/"
	replacedTable(s, "t")
	viewer := s.Member("v@acme.example", "viewer", nil)
	p := s.Rule("cls", "t", "ssn", harness.ViewersNot)
	s.Admin.OK("PATCH", policies+p["id"].(string), object{"enabled": false, "expectedVersion": 1})
	replaceWithWords(s, "t")
	s.Adopt("t", false)
	o := viewer.Await(viewer.Start("SELECT * FROM " + s.Schema + ".t AT (VERSION => 1)"))
	require.Len(t, viewer.Result(o).JSON(t)["rows"], 10)
	s.Admin.OK("PATCH", policies+p["id"].(string), object{"enabled": true, "expectedVersion": 2})
	code, _ := viewer.Result(o).Problem(t, 409)
	require.Equal(t, "result_stale", code)
}

// TestPoliciesHoldForEarlierNamesInAReplacedTable checks that a policy for every table
// applies to the column that had its name last in the replaced table, in older versions
// too.
func TestPoliciesHoldForEarlierNamesInAReplacedTable(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := replacedTable(s, "t")
	viewer := s.Member("v@acme.example", "viewer", nil)
	harness.RenameElsewhere(t, dir, "ssn", "number")
	s.Rule("cls", "", "number", harness.ViewersNot)
	require.Len(t, viewer.Rows("DESCRIBE SELECT * FROM "+s.Schema+".t AT (VERSION => 1)"), 2)
	replaceWithWords(s, "t")
	s.Adopt("t", false)
	require.Equal(t, 3.0, viewer.Count(s.Schema+".t"))
	for v := range 3 {
		viewer.Query(fmt.Sprintf("SELECT count(*) FROM %s.t AT (VERSION => %d)", s.Schema, v)).Problem(t, 403)
	}
	require.Equal(t, 10.0, s.Member("b@acme.example", "builder", nil).Count(s.Schema+".t AT (VERSION => 1)"))
}

// TestPoliciesDeletedBeforeTheReplacementCloseNothing checks that only policies that were
// deleted after the replacement, or up to five minutes before it, close versions.
func TestPoliciesDeletedBeforeTheReplacementCloseNothing(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := replacedTable(s, "t")
	viewer := s.Member("v@acme.example", "viewer", nil)
	p := s.Rule("cls", "t", "ssn", harness.ViewersNot)
	require.Less(t, s.Admin.Call("DELETE", "/v1/organisations/"+s.Boot.OrganisationID+"/policies/"+p["id"].(string)+"?expectedVersion=1",
		nil).Status, 300)
	replaceWithWords(s, "t")
	viewer.Query("SELECT count(*) FROM "+s.Schema+".t AT (VERSION => 1)").Problem(t,
		403) // the clocks of stores and catalog may differ by minutes
	later := time.Now().Add(10 * time.Minute)
	require.NoError(t, os.Chtimes(filepath.Join(dir, logpath.CommitName(2)), later, later))
	require.Equal(t, 10.0, viewer.Count(s.Schema+".t AT (VERSION => 1)"))
}

// TestFaultsOfClosedVersionsAreNotRevealed checks that only callers who may read a version
// learn why it cannot be read.
func TestFaultsOfClosedVersionsAreNotRevealed(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	dir := replacedTable(s, "t")
	viewer := s.Member("v@acme.example", "viewer", nil)
	s.Rule("cls", "t", "ssn", harness.ViewersNot)
	name := filepath.Join(dir, logpath.CommitName(1))
	body, err := os.ReadFile(name)
	require.NoError(t, err)
	replaceWithWords(s, "t")
	require.NoError(t, os.WriteFile(name,
		append(body, []byte("\n"+
			`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["oddity"],"writerFeatures":["oddity"]}}`)...), 0o600))
	head := filepath.Join(dir, logpath.CommitName(2))
	body, err = os.ReadFile(head)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(head, append(body, []byte(`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`)...), 0o600))
	s.Adopt("t", false)
	require.Equal(t, 3.0, viewer.Count(s.Schema+".t"))
	code, fields := s.Admin.Query("SELECT * FROM "+s.Schema+".t AT (VERSION => 1)").Problem(t, 409)
	require.Equal(t, "unsupported_table_feature", code, fields)
	r := viewer.Query("SELECT * FROM " + s.Schema + ".t AT (VERSION => 1)")
	r.Problem(t, 403)
	require.NotContains(t, string(r.Body), "oddity")
}

// TestAPolicyOnALaterColumnClosesEveryReplacedVersion checks that a policy about a column
// closes also the versions of a replaced table that lack the column.
func TestAPolicyOnALaterColumnClosesEveryReplacedVersion(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	replacedTable(s, "t")
	viewer := s.Member("v@acme.example", "viewer", nil)
	s.Admin.OK("POST", s.TablePath("t")+"/columns", object{"name": "pay", "type": "long"})
	s.Rule("mask", "t", "pay", harness.ViewersNot)
	require.Equal(t, 10.0, viewer.Count(s.Schema+".t AT (VERSION => 1)"), "the column is not there")
	replaceWithWords(s, "t")
	s.Adopt("t", false)
	for v := range 3 {
		viewer.Query(fmt.Sprintf("SELECT count(*) FROM %s.t AT (VERSION => %d)", s.Schema, v)).Problem(t, 403)
	}
	require.Equal(t, 10.0, s.Admin.Count(s.Schema+".t AT (VERSION => 1)"))
}
