package policy_test

import (
	"encoding/base64"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestDryRunsTellNothingOfHiddenKeys makes dry runs over two tables that differ in hidden rows
// only: one has the key that is tried in a hidden row.
func TestDryRunsTellNothingOfHiddenKeys(t *testing.T) {
	t.Parallel()
	s, ben, path, other := hiding(t)
	for _, table := range []string{path, other} {
		s.Admin.OK("PUT", table+"/primary-key", object{"columns": list{"id"}})
	}
	rows := object{"rows": list{object{"id": 2, "tenant": "a", "note": "tried"}}} // a hidden row of one table has 2
	for _, below := range []string{"/rows?dry_run=true", "/rows/merge?dry_run=true", "/rows/merge?dry_run=true&when_matched=ignore"} {
		r := answersAlike(ben, "POST", path, other, below, rows)
		require.Equal(t, 200, r.Status, "%s", r.Body)
		require.Equal(t, false, r.JSON(t)["keysChecked"], below)
		require.Equal(t, 1.0, r.JSON(t)["inserted"], below)
	}
	// A row that is not inserted meets no key, so nothing says whether a hidden row has it.
	for _, below := range []string{"?when_matched=delete&when_not_matched=ignore", "?when_matched=update&when_not_matched=ignore"} {
		r := answersAlike(ben, "POST", path, other, "/rows/merge"+below, rows)
		require.Equal(t, 200, r.Status, "%s", r.Body)
	}
	repeated := object{"rows": list{object{"id": 2, "tenant": "a"}, object{"id": 2, "tenant": "a"}}}
	code, _ := answersAlike(ben, "POST", path, other, "/rows", repeated).Problem(t, 422)
	require.Equal(t, "duplicate_key", code, "a request that cannot succeed says nothing about hidden keys")

	twice := object{"rows": list{object{"id": 5, "tenant": "a"}, object{"id": 5, "tenant": "a"}}}
	code, _ = answersAlike(ben, "POST", path, other, "/rows?dry_run=true", twice).Problem(t, 422)
	require.Equal(t, "duplicate_key", code, "the rows of the request are compared with each other")

	key := s.Admin.Call("POST", path+"/rows?dry_run=true", object{"rows": list{object{"id": 2, "tenant": "b"}}})
	code, _ = key.Problem(t, 409)
	require.Equal(t, "key_conflict", code, "who sees all rows has the keys checked")
	require.NotContains(t, s.Admin.OK("POST", path+"/rows?dry_run=true", object{"rows": list{object{"id": 3}}}), "keysChecked")
}

// TestRefusalsBecauseOfHiddenRowsAreLimited checks that a caller with a row filter cannot try keys
// without end, that the audit log has the attempts, and that others are not concerned.
func TestRefusalsBecauseOfHiddenRowsAreLimited(t *testing.T) {
	t.Parallel()
	s, ben, path, _ := hiding(t)
	s.Admin.OK("PUT", path+"/primary-key", object{"columns": list{"id"}})
	limit := int(s.Admin.OK("GET", "/v1/limits", nil)["hidden_row_refusals_per_minute"].(float64))
	try := func(c *harness.Client) harness.Reply {
		return c.Call("POST", path+"/rows", object{"rows": list{object{"id": 2, "tenant": "a"}}})
	}
	refused := 0
	for r := try(ben); r.Status != 429; r = try(ben) { // the limit refills while the test runs
		code, _ := r.Problem(t, 409)
		require.Equal(t, "key_conflict", code)
		refused++
		require.Less(t, refused, 100*limit)
	}
	require.GreaterOrEqual(t, refused, limit)
	r := ben.Call("POST", path+"/rows/update", object{"where": "true", "set": object{"note": "'x'"}})
	if r.Status == 429 { // unless a second has passed
		code, _ := r.Problem(t, 429)
		require.Equal(t, "too_many_refusals", code)
		wait, err := strconv.Atoi(r.Header.Get("Retry-After"))
		require.NoError(t, err)
		require.Positive(t, wait)
	}
	for range 2 * limit { // who sees all rows learns nothing by a conflict
		code, _ := try(s.Admin).Problem(t, 409)
		require.Equal(t, "key_conflict", code)
	}
	require.GreaterOrEqual(t, s.Metric(t, "lakewarden_hidden_row_refusals_total"), float64(limit))
	require.Eventually(t, func() bool {
		found := s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/audit?page_size=1000&action=rows.probed", nil)["entries"].(list)
		for _, e := range found {
			require.Equal(t, list{ben.User, "deny"}, list{e.(object)["userId"], e.(object)["outcome"]})
		}
		return len(found) >= refused
	}, time.Minute, 100*time.Millisecond)
}

// TestRefusedReferencesAreCountedByValue checks that each value that a domain refuses because of
// rows that the caller does not see counts, not only each request.
func TestRefusedReferencesAreCountedByValue(t *testing.T) {
	t.Parallel()
	s, ben, _, _ := hiding(t)
	s.Table("tried", `SELECT 1 AS id, 'SECRET-b' AS note`, nil, column{"id", "long"}, column{"note", "string"})
	s.Admin.OK("PUT", s.TablePath("tried")+"/columns/note/domain/reference",
		object{"table_path": "lake." + s.Schema + ".loans", "column": "note"})
	limit := int(s.Admin.OK("GET", "/v1/limits", nil)["hidden_row_refusals_per_minute"].(float64))
	var rows list
	for i := range limit {
		rows = append(rows, object{"id": i, "note": "tried " + strconv.Itoa(i)})
	}
	try := func(c *harness.Client) harness.Reply {
		return c.Call("POST", s.TablePath("tried")+"/rows", object{"rows": rows})
	}
	refused := 0
	for r := try(ben); r.Status != 429; r = try(ben) {
		r.Problem(t, 422)
		refused++
		require.Less(t, refused, limit/2, "limit/2 requests would be far more than limit values")
	}
	require.Positive(t, refused)
	for range 3 {
		try(s.Admin).Problem(t, 422)
	}
	// The number of all refused rows would tell about more values than the reply names.
	for len(rows) < 150 {
		rows = append(rows, object{"id": len(rows), "note": "tried too"})
	}
	other := s.Member("bo@acme.example", "builder", map[string]string{"tenant": "a"})
	require.Contains(t, try(s.Admin).JSON(t)["message"], "150")
	require.NotContains(t, try(other).JSON(t)["message"], "150")
}

// TestWritesBeyondAQuotaAreCounted checks that a caller with a row filter cannot try keys without end by
// writes that a sandbox has no room for: they are refused after the keys were checked.
func TestWritesBeyondAQuotaAreCounted(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, func(c *harness.Settings) { c.SandboxQuota = 1 })
	org := "/v1/organisations/" + s.Boot.OrganisationID
	s.Admin.OK("PATCH", org+"/config", object{"sandbox_enabled": true})
	ed := s.Member("ed@acme.example", "editor", map[string]string{"tenant": "a"})
	ed.OK("POST", "/v1/tables", object{"catalog": "lake", "schema": "sandbox", "name": "t", "columns": list{
		harness.Col("id", "long", "isPrimaryKey", true), harness.Col("tenant", "string"), harness.Col("note", "binary")}})
	const path = "/v1/tables/lake/sandbox/t"
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 2, "tenant": "b"}))
	for _, definition := range []string{harness.AdminsSee, `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"}}`} {
		s.Admin.OK("POST", org+"/policies", object{"kind": "rls", "tableFqn": "lake.sandbox.t", "columnName": "tenant",
			"definition": harness.Definition(definition)})
	}
	random := make([]byte, 2<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	body := object{"rows": list{object{"id": 3, "tenant": "a", "note": base64.StdEncoding.EncodeToString(random)}}}
	limit := int(s.Admin.OK("GET", "/v1/limits", nil)["hidden_row_refusals_per_minute"].(float64))
	refused := 0
	for r := ed.Call("POST", path+"/rows", body); r.Status != 429; r = ed.Call("POST", path+"/rows", body) {
		code, _ := r.Problem(t, 422)
		require.Equal(t, "quota_exceeded", code)
		refused++
		require.Less(t, refused, 100*limit)
	}
	require.GreaterOrEqual(t, refused, limit)
}

// TestChangesOfValuesAreAudited checks that an administrator can list past changes of values by
// callers who did not see all rows.
func TestChangesOfValuesAreAudited(t *testing.T) {
	t.Parallel()
	s, _, path, _ := hiding(t)
	boss := s.Member("boss@acme.example", "admin", map[string]string{"tenant": "a"})
	s.Rule("mask", "loans", "id", `{"effect":"forbid","subject":{"attribute":"tenant","op":"eq","value":"a"}}`)
	at := path + "/columns/note/domain"
	values := s.Admin.OK("PUT", at+"/fixed", object{"values": list{"mine", "SECRET-b", "x"}})["domain"].(object)["allowed_values"].(list)
	boss.OK("PATCH", at+"/values/"+values[0].(object)["id"].(string), object{"value": "ours"})
	require.Eventually(t, func() bool {
		found := s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/audit?action=domain.rename", nil)["entries"].(list)
		if len(found) == 0 {
			return false
		}
		e := found[0].(object)
		require.Equal(t, list{boss.User, false}, list{e["userId"], e["details"].(object)["whole_table"]})
		return true
	}, time.Minute, 100*time.Millisecond)
}

// TestOtherTablesValuesAreNotAskedFor checks the ways other than writes of rows in which a builder could
// ask for hidden values of a table from which a domain takes its values: the table with the domain is
// one of which the builder sees everything.
func TestOtherTablesValuesAreNotAskedFor(t *testing.T) {
	t.Parallel()
	s, ben, _, _ := hiding(t)
	path := s.TablePath("places")
	s.Table("places", `SELECT 1 AS id, 'b' AS country, 'mine' AS city`, nil, column{"id", "long"}, column{"country", "string"},
		column{"city", "string"})
	// A version with a value that only a hidden row allows, and one with a value that no row does.
	var versions []float64
	for _, city := range []string{"SECRET-b", "nowhere", "mine"} {
		versions = append(versions, s.Admin.OK("POST", path+"/rows/update", object{"where": "true", "set": object{"city": "'" + city + "'",
			"country": "'a'"}})["version"].(float64))
	}
	reference := object{"table_path": "lake." + s.Schema + ".loans", "column": "note"}
	s.Admin.OK("PUT", path+"/columns/city/domain/reference", reference)
	domains := func(c *harness.Client) (found int) {
		for _, rule := range c.OK("GET", path+"/violations", nil)["rules"].(list) {
			if rule.(object)["kind"] == "domain" {
				found++
			}
		}
		return found
	}
	require.Equal(t, 1, domains(s.Admin))
	require.Zero(t, domains(ben), "the builder learns nothing about it")
	for _, version := range versions[:2] {
		code, _ := ben.Call("POST", path+"/restore", object{"version": version}).Problem(t, 403)
		require.Equal(t, "table_partly_visible", code)
	}
	s.Admin.OK("POST", path+"/restore", object{"version": versions[0]})
	code, _ := s.Admin.Call("POST", path+"/restore", object{"version": versions[1]}).Problem(t, 409)
	require.Equal(t, "constraint_violation", code)
	s.Admin.OK("POST", path+"/rows/update", object{"where": "true", "set": object{"city": "'mine'"}})

	// A new name of a country has to be one that the other table has for the city.
	s.Admin.OK("DELETE", path+"/columns/city/domain", nil)
	at := path + "/columns/country/domain"
	values := s.Admin.OK("PUT", at+"/fixed", object{"values": list{"a"}})["domain"].(object)["allowed_values"].(list)
	s.Admin.OK("PUT", path+"/columns/city/domain/hierarchical/table", object{"parent_column": "country", "table_path": reference["table_path"],
		"parent_key": "tenant", "child_key": "note"})
	value := at + "/values/" + values[0].(object)["id"].(string)
	for _, name := range []string{"b", "nobody's"} {
		code, _ := ben.Call("PATCH", value, object{"value": name}).Problem(t, 403)
		require.Equal(t, "table_partly_visible", code, name)
	}
	require.Equal(t, []any{[]any{"a"}}, s.Admin.Rows("SELECT country FROM "+s.Schema+".places"), "the renames were undone")
	code, _ = s.Admin.Call("PATCH", value, object{"value": "nobody's"}).Problem(t, 422)
	require.Equal(t, "rule_violation", code)
}
