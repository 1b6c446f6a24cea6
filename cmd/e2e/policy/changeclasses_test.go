package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// changeClass is what a route may change of rows that its caller does not see.
type changeClass string

const (
	ownRows    changeClass = "the caller's own rows"
	wholeTable changeClass = "the whole table"
	openToAll  changeClass = "nothing that depends on rows"
	noTable    changeClass = "no existing table"
)

// change is a request of a class, by one route.
type change struct {
	class changeClass
	// below is the path below the table, or a whole path if it begins with /v1.
	below string
	body  any
}

// changeRoutes has every route that changes something, by the id of its operation, so that a new
// route has to be put into a class. {state} and the like are ids of values.
func changeRoutes(w changeWorld) map[string][]change {
	org, config := "/v1/organisations/"+w.s.Boot.OrganisationID, harness.ConfigsPath+"/"+w.config
	domain := func(column, below string) string { return "/columns/" + column + "/domain" + below }
	shared := func(domain, below string) string { return org + "/domains/" + w.ids[domain] + below }
	row := func(id int, note string) object {
		return object{"id": id, "tenant": "a", "state": "s1", "region": "r1", "city": "c1", "grade": "g1", "area": "x", "zone": "x1",
			"note": note}
	}
	return map[string][]change{
		"insertRows": {{ownRows, "/rows", object{"rows": list{row(9, "new")}}}},
		"updateRows": {{ownRows, "/rows/update", object{"where": "true", "set": object{"note": "'changed'"}}}},
		"mergeRows":  {{ownRows, "/rows/merge", object{"on": list{"id"}, "rows": list{row(9, "merged")}}}},
		"deleteRows": {{ownRows, "/rows/delete", object{"where": "id >= 9"}}},

		"changeValue": {
			{wholeTable, domain("state", "/values/"+w.ids["s2"]), object{"value": "s9"}},
			{wholeTable, domain("state", "/values/"+w.ids["s2"]), object{"value": "s1"}},
			{openToAll, domain("state", "/values/"+w.ids["s2"]), object{"label": "second"}},
		},
		"deleteValue": {
			{wholeTable, domain("state", "/values/"+w.ids["s2"]+"?replace_with=s1"), nil},
			{wholeTable, domain("state", "/values/"+w.ids["s3"]), nil},
			{wholeTable, domain("state", "/values/"+w.ids["s4"]), nil},
		},
		"deleteParent":    {{wholeTable, domain("city", "/parents/"+w.ids["r2"]), nil}},
		"deleteChild":     {{wholeTable, domain("city", "/parents/"+w.ids["r1"]+"/children/"+w.ids["c2"]), nil}},
		"setFixedDomain":  {{wholeTable, domain("note", "/fixed"), object{"values": list{"mine", "yours"}}}},
		"setInlineDomain": {{wholeTable, domain("note", "/hierarchical/inline"), object{"parent_column": "region", "parents": list{}}}},
		"setLookupDomain": {{wholeTable, domain("note", "/hierarchical/table"), object{"parent_column": "region",
			"table_path": w.source, "parent_key": "k", "child_key": "v"}}},
		"setReferenceDomain": {{wholeTable, domain("note", "/reference"), object{"table_path": w.source, "column": "v"}}},
		"setRangeDomain":     {{wholeTable, domain("id", "/range"), object{"min": "0", "max": "2"}}},
		"setSharedDomain":    {{wholeTable, domain("note", "/shared"), object{"domain_id": w.ids["grades"]}}},
		"addValue":           {{openToAll, domain("state", "/values"), object{"value": "s5"}}},
		"addParent":          {{openToAll, domain("city", "/parents"), object{"value": "r3"}}},
		"addChild":           {{openToAll, domain("city", "/parents/"+w.ids["r1"]+"/children"), object{"value": "c3"}}},
		"deleteDomain":       {{openToAll, domain("area2", ""), nil}},

		"changeSharedValue": {
			{wholeTable, shared("grades", "/values/"+w.ids["g2"]), object{"value": "g9"}},
			{wholeTable, shared("grades", "/values/"+w.ids["g4"]), object{"value": "g2"}},
			{openToAll, shared("grades", "/values/"+w.ids["g2"]), object{"description": "second"}},
		},
		"deleteSharedValue": {
			{wholeTable, shared("grades", "/values/"+w.ids["g2"]+"?replace_with=g1"), nil},
			{wholeTable, shared("grades", "/values/"+w.ids["g3"]), nil},
			{wholeTable, shared("grades", "/values/"+w.ids["g4"]), nil},
		},
		"deleteSharedParent": {{wholeTable, shared("zones", "/parents/"+w.ids["y"]), nil}},
		"deleteSharedChild":  {{wholeTable, shared("zones", "/parents/"+w.ids["x"]+"/children/"+w.ids["x2"]), nil}},
		"replaceSharedDomain": {{wholeTable, shared("grades", ""), object{"name": "grades", "type": "fixed", "values": list{"g1"},
			"expected_version": 1}}},
		"addSharedValue":  {{openToAll, shared("grades", "/values"), object{"value": "g5"}}},
		"addSharedParent": {{openToAll, shared("zones", "/parents"), object{"value": "z"}}},
		"addSharedChild":  {{openToAll, shared("zones", "/parents/"+w.ids["x"]+"/children"), object{"value": "x3"}}},

		"changeColumn": {
			{wholeTable, "/columns/" + w.read, object{"default": "'a'"}},
			{wholeTable, "/columns/" + w.read, object{"name": "other"}},
			{wholeTable, "/columns/" + w.read, object{"comment": "a policy reads it"}},
			{openToAll, "/columns/note", object{"comment": "free text"}},
		},
		"addColumn":  {{openToAll, "/columns", object{"name": "more", "type": "string"}}},
		"dropColumn": {{wholeTable, "/columns/note", nil}},
		"updateColumnSettings": {
			{wholeTable, "/columns/id/settings", object{"isPrimaryKey": true}},
			{wholeTable, "/columns/note/settings", object{"isUnique": true}},
			{wholeTable, "/columns/id/settings", object{"isNullable": false}},
			{openToAll, "/columns/id/settings", object{"isUnique": false}},
		},
		"replacePrimaryKey": {
			{wholeTable, "/primary-key", object{"columns": list{"id"}}},
			{openToAll, "/primary-key", object{"columns": list{}}},
		},
		"addConstraints":     {{wholeTable, "/constraints", object{"constraints": list{object{"name": "few", "expr": "id < 3"}}}}},
		"validateConstraint": {{wholeTable, "/constraints/open/validate", nil}},
		"deleteConstraint":   {{openToAll, "/constraints/open", nil}},
		"changeProperties":   {{wholeTable, "/properties", object{"set": object{"delta.appendOnly": "true"}}}},
		"restoreTable":       {{wholeTable, "/restore", object{"version": 0}}},
		"renameTable":        {{wholeTable, "", object{"name": "elsewhere"}}},
		"vacuumTable": {
			{wholeTable, "/vacuum", object{"retention_hours": 1000}},
			{openToAll, "/vacuum", object{}},
		},
		"optimizeTable": {
			{wholeTable, "/optimize", object{"target_size": 1 << 20}},
			{wholeTable, "/optimize", object{"where": "true"}},
			{openToAll, "/optimize", object{}},
		},
		"dropTable": {{wholeTable, "?purge=true", nil}, {wholeTable, "", nil}},

		"attachStorageConfig": {{wholeTable, config + "/attach", object{"workspaceId": w.s.Boot.WorkspaceID}}},
		"deleteStorageConfig": {{wholeTable, config, nil}},
		"updateStorageConfig": {{wholeTable, config, object{"configName": "elsewhere"}}, {openToAll, config, object{}}},
		"moveObjects": {{wholeTable, "/v1/storages/move", object{"sourceConfigId": w.config, "sourcePath": "t",
			"destinationConfigId": w.config, "destinationPath": "moved"}}},
		"discoverTables": {
			{wholeTable, config + "/discover", object{"includeDropped": true}},
			{openToAll, config + "/discover", object{}},
		},
		"undoAttachStorageConfig": {{openToAll, config + "/promote-undo", nil}},
		"takeOverStorageConfig":   {{openToAll, config + "/take-over", nil}},
	}
}

// without are the operations that change no existing table: identity, credentials, policies
// themselves, and reads that are sent by POST.
var without = strings.Fields(`createApiKey revokeApiKey rotateApiKey logout recover ssoBackchannelLogout ssoLogin acceptInvitation
	updateMe deleteMe updateOrganisation
	changeMyPassword cancelOperation createOrganisation deleteAnalysisProvider putAnalysisProvider createClient deleteClient updateClient
	rotateClientSecret createSharedDomain deleteSharedDomain deleteInvitation inviteUser createPolicy simulatePolicies deletePolicy
	endMySession endUserSession
	updatePolicy replacePolicy deleteProviderApp putProviderApp deleteProviderLink recoverUser createServiceAccount deleteServiceAccount
	updateServiceAccount createServiceAccountApiKey rotateServiceAccountSecret deleteSso putSso verifyDomain createUser deleteUser
	bindUserIdentity releaseUserIdentity releaseIdentities
	replaceUserAttributes updateUserRole createWorkspace deleteWorkspace updateWorkspace removeWorkspaceMember setWorkspaceMember
	deleteOrganisation updateOrganisationConfig transferOrganisation undeleteOrganisation startQuery query createStorageConfig
	rotateAzureCredential rotateGCSCredential rotateKindACredential rotateKindBCredential rotateS3Credential
	validateStorageConfig createTable inferSchema analyzeTable explainRows adoptIdentity`)

// changeWorld is a table that three people see in part, with what its routes need.
type changeWorld struct {
	s      *harness.Server
	path   string
	config string
	source string
	// read is a column that a policy reads.
	read string
	ids  map[string]string
	// others see the rows of each tenant, and change nothing.
	others []*harness.Client
}

const changedRows = `SELECT * FROM (VALUES (1, 'a', 's1', 'r1', 'c1', 'g1', 'x', 'x1', 'x', 'mine', 10),
	(2, 'b', 's2', 'r1', 'c2', 'g2', 'x', 'x2', 'x', 'SECRET-b', 20), (3, 'b', 's3', 'r2', 'd1', 'g3', 'y', 'y1', 'x', 'SECRET-b', 20))
	t(id, tenant, state, region, city, grade, area, zone, area2, note, pay)`

// newChangeWorld makes the table before any policy, with restrict as its policies.
func newChangeWorld(t *testing.T, restrict func(*harness.Server) (read string)) changeWorld {
	s := harness.Shared(t)
	w := changeWorld{s: s, path: s.TablePath("t"), ids: map[string]string{}, source: "lake." + s.Schema + ".source"}
	columns := []column{{"id", "long"}}
	for _, name := range []string{"tenant", "state", "region", "city", "grade", "area", "zone", "area2", "note"} {
		columns = append(columns, column{name, "string"})
	}
	s.Table("t", changedRows, nil, append(columns, column{"pay", "long"})...)
	s.Table("source", `SELECT 'r1' AS k, 'mine' AS v`, nil, column{"k", "string"}, column{"v", "string"})
	w.config = s.Admin.OK("GET", w.path, nil)["configId"].(string)
	s.Table("gone", `SELECT 1 AS id, 'b' AS tenant`, nil, column{"id", "long"}, column{"tenant", "string"})
	s.Policy("gone", "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
	s.Admin.OK("DELETE", s.TablePath("gone"), nil)
	note := func(values any) {
		for _, v := range values.(list) {
			w.ids[v.(object)["value"].(string)] = v.(object)["id"].(string)
		}
	}
	children := func(d object) {
		note(d["allowed_values"])
		for _, list := range d["lookup"].(object)["mappings"].(object) {
			note(list)
		}
	}
	set := func(column, kind string, body object) object {
		return s.Admin.OK("PUT", w.path+"/columns/"+column+"/domain/"+kind, body)["domain"].(object)
	}
	shared := func(name string, body object) object {
		body["name"] = name
		d := s.Admin.Call("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/domains", body).JSON(t)
		w.ids[name] = d["id"].(string)
		return d
	}
	note(set("state", "fixed", object{"values": list{"s1", "s2", "s3", "s4"}})["allowed_values"])
	children(set("city", "hierarchical/inline", object{"parent_column": "region", "parents": list{
		object{"value": "r1", "children": list{"c1", "c2"}}, object{"value": "r2", "children": list{"d1"}}}}))
	note(shared("grades", object{"type": "fixed", "values": list{"g1", "g2", "g3", "g4"}})["allowed_values"])
	set("grade", "shared", object{"domain_id": w.ids["grades"]})
	children(shared("zones", object{"type": "hierarchical", "parents": list{
		object{"value": "x", "children": list{"x1", "x2"}}, object{"value": "y", "children": list{"y1"}}}}))
	set("zone", "shared", object{"domain_id": w.ids["zones"], "parent_column": "area"})
	set("area2", "fixed", object{"values": list{"x"}})
	s.Admin.OK("POST", w.path+"/constraints", object{"constraints": list{object{"name": "open", "expr": "regexp_full_match(note, '.*')"}}})
	for _, tenant := range []string{"a", "b"} {
		w.others = append(w.others, s.Member("see-"+tenant+"@acme.example", "viewer", map[string]string{"tenant": tenant}))
	}
	w.read = restrict(s)
	return w
}

// seen returns the rows that the others see.
func (w changeWorld) seen() (rows list) {
	for _, c := range w.others {
		rows = append(rows, c.Rows("SELECT id, tenant, state, region, city, grade, area, zone, note FROM "+w.s.Schema+".t ORDER BY id"))
	}
	return rows
}

// TestEveryChangeHasAClass checks that each route that changes something is in exactly one list.
func TestEveryChangeHasAClass(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/openapi.json")
	require.NoError(t, err)
	var described struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	require.NoError(t, json.Unmarshal(raw, &described))
	classes := changeRoutes(changeWorld{s: harness.Shared(t)})
	for _, id := range without {
		classes[id] = append(classes[id], change{class: noTable})
	}
	for path, methods := range described.Paths {
		for method, operation := range methods {
			if method != "get" && method != "head" {
				require.Contains(t, classes, operation.OperationID, "%s %s has no class: see docs/policies.md", method, path)
				delete(classes, operation.OperationID)
			}
		}
	}
	require.Empty(t, classes, "routes that do not exist")
}

// callers of the matrix: a builder, an editor, and an administrator whose key cannot change
// policies. None of them sees all of the table.
func (w changeWorld) callers() map[string]*harness.Client {
	attributes := map[string]string{"tenant": "a"}
	boss := w.s.Member("boss@acme.example", "admin", attributes)
	narrow, _ := boss.NewKey(map[string]any{"name": "narrow", "scopes": []string{"write"}})
	return map[string]*harness.Client{
		"builder": w.s.Member("ben@acme.example", "builder", attributes), "editor": w.s.Member("ed@acme.example", "editor", attributes),
		"narrow key of an administrator": narrow,
	}
}

// TestNobodyChangesRowsThatTheyDoNotSee sends every change as callers of whom a row filter hides
// rows, or a policy hides or masks a column, and compares what others see before and after.
func TestNobodyChangesRowsThatTheyDoNotSee(t *testing.T) {
	t.Parallel()
	const tenants = `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`
	nobodyElse := `{"effect":"permit","subject":{"attribute":"clearance","op":"eq","value":"top"}}`
	for name, restrict := range map[string]func(*harness.Server) string{
		"rows hidden": func(s *harness.Server) string { s.Policy("t", "tenant", tenants); return "tenant" },
		"column hidden": func(s *harness.Server) string {
			s.Rule("cls", "t", "pay", nobodyElse)
			s.Policy("t", "id", harness.Everyone)
			return "id"
		},
		"column masked": func(s *harness.Server) string { s.Rule("mask", "t", "pay", nobodyElse); return "pay" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newChangeWorld(t, restrict)
			callers, routes := w.callers(), changeRoutes(w)
			for _, class := range []changeClass{wholeTable, openToAll, ownRows} { // what is refused comes first
				for who, c := range callers {
					before := w.seen()
					for id, changes := range routes {
						for _, ask := range changes {
							if ask.class == class {
								w.tryChange(t, who, c, id, ask)
							}
						}
					}
					require.Equal(t, w.ofOthers(class, before), w.ofOthers(class, w.seen()), "%s changed %s", who, class)
				}
			}
			require.Positive(t, w.s.Metric(t, "lakewarden_partly_visible_denials_total"))
		})
	}
}

func (w changeWorld) tryChange(t *testing.T, who string, c *harness.Client, id string, ask change) {
	t.Helper()
	r := c.Call(methodOf(id), w.target(ask), ask.body)
	what := who + ": " + id + " " + w.target(ask)
	switch {
	case who == "editor" && ask.class != ownRows:
		code, _ := r.Problem(t, 403)
		require.Equal(t, "insufficient_scope", code, what)
	case ask.class == wholeTable:
		code, fields := r.Problem(t, 403)
		require.Equal(t, "table_partly_visible", code, what)
		require.Equal(t, []string{"table"}, fields, what)
		require.Contains(t, string(r.Body), "rls_policies:write", what)
		require.NotContains(t, string(r.Body), "SECRET", what)
	case ask.class == openToAll:
		require.NotContains(t, string(r.Body), "table_partly_visible", what)
	default:
		require.Less(t, r.Status, 300, "%s: %s", what, r.Body)
	}
}

// ofOthers returns the rows that changes of a class must not change: all but, for those of the
// caller's own rows, the rows of its tenant, or all rows if it sees all.
func (w changeWorld) ofOthers(class changeClass, seen list) list {
	switch {
	case class != ownRows:
		return seen
	case w.read != "tenant":
		return nil
	}
	return seen[1:]
}

func (w changeWorld) target(ask change) string {
	if strings.HasPrefix(ask.below, "/v1/") {
		return ask.below
	}
	return w.path + ask.below
}

func methodOf(operation string) string {
	switch {
	case strings.HasPrefix(operation, "delete"), strings.HasPrefix(operation, "drop"):
		if operation == "deleteRows" {
			return "POST"
		}
		return "DELETE"
	case strings.HasPrefix(operation, "set"), strings.HasPrefix(operation, "replace"), operation == "updateColumnSettings":
		return "PUT"
	case strings.HasPrefix(operation, "change"), operation == "renameTable", operation == "updateStorageConfig":
		return "PATCH"
	}
	return "POST"
}

// TestWhoMayChangePoliciesChangesTheWholeTable sends each change of the whole table as an
// administrator whose own rows are filtered. It is made, the reply shows no hidden row, and the
// audit log has it.
func TestWhoMayChangePoliciesChangesTheWholeTable(t *testing.T) {
	t.Parallel()
	for id := range changeRoutes(changeWorld{s: harness.Shared(t)}) {
		for i, ask := range changeRoutes(changeWorld{s: harness.Shared(t)})[id] {
			if ask.class != wholeTable || i > 0 {
				continue
			}
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				w := newChangeWorld(t, func(s *harness.Server) string {
					s.Policy("t", "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
					return "tenant"
				})
				ask := changeRoutes(w)[id][i]
				boss := w.s.Member("boss@acme.example", "admin", map[string]string{"tenant": "a"})
				effective := boss.OK("GET", w.path+"/effective-policies", nil)
				require.Equal(t, list{true, true}, list{effective["restricted"], effective["wholeTable"]})
				r := boss.Call(methodOf(id), w.target(ask), ask.body)
				require.NotContains(t, string(r.Body), "table_partly_visible")
				require.NotContains(t, string(r.Body), "SECRET")
				if r.Status < 300 {
					require.Eventually(t, func() bool {
						found := w.s.Admin.OK("GET", "/v1/organisations/"+w.s.Boot.OrganisationID+"/audit?action=table.changed_beyond_own_view", nil)
						return len(found["entries"].(list)) > 0
					}, time.Minute, 100*time.Millisecond, "%s", r.Body)
				}
			})
		}
	}
}

// TestRegistrationsAreJudgedByEveryTableThatTheyStandFor checks tables that cannot be opened as
// usual: replaced ones, dropped ones and copies.
func TestRegistrationsAreJudgedByEveryTableThatTheyStandFor(t *testing.T) {
	t.Parallel()
	s, ben, path, other := hiding(t)
	config := harness.ConfigsPath + "/" + s.Admin.OK("GET", path, nil)["configId"].(string)
	refused := func(r harness.Reply) {
		t.Helper()
		code, _ := r.Problem(t, 403)
		require.Equal(t, "table_partly_visible", code)
	}

	// A copy has the id of the table, and so its constraints, but other columns.
	require.NoError(t, os.CopyFS(filepath.Join(s.Root, "copied"), os.DirFS(filepath.Join(s.Root, "loans"))))
	s.Discover()
	s.Admin.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "few", "expr": "regexp_full_match(note, '.*')"}}})
	for _, ask := range []struct {
		method, below string
		body          any
	}{
		{"POST", "/constraints", object{"constraints": list{object{"name": "none", "expr": "id < 0"}}}},
		{"DELETE", "/constraints/few", nil},
		{"POST", "/constraints/few/validate", nil},
	} {
		code, _ := s.Admin.Call(ask.method, s.TablePath("copied")+ask.below, ask.body).Problem(t, 409)
		require.Equal(t, "table_id_ambiguous", code, ask.below)
	}

	// The policies of a replaced table hold until its replacement is adopted.
	harness.ReplaceTable(t, filepath.Join(s.Root, "wild"), "", `SELECT 7 AS id, 'a' AS tenant, 'x' AS note`,
		column{"id", "long"}, column{"tenant", "string"}, column{"note", "string"})
	s.Discover()
	code, _ := s.Admin.Call("GET", other, nil).Problem(t, 409)
	require.Equal(t, "table_identity_changed", code)
	refused(ben.Call("DELETE", other, nil))
	refused(ben.Call("PATCH", other, object{"name": "mine"}))

	// A dropped table keeps its policies.
	s.Admin.OK("DELETE", path, nil)
	s.Admin.OK("DELETE", other, nil)
	s.Admin.OK("DELETE", s.TablePath("copied"), nil)
	refused(ben.Call("DELETE", config, nil))
	refused(ben.Call("POST", config+"/discover", object{"includeDropped": true}))
}

// TestDryRunsAreNotAuditedAsChanges checks that the audit log has changes of the whole table, but not
// their dry runs. The caller is an administrator with a row filter.
func TestDryRunsAreNotAuditedAsChanges(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/openapi.json")
	require.NoError(t, err)
	var described struct {
		Paths map[string]map[string]struct {
			OperationID string
			RequestBody struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	require.NoError(t, json.Unmarshal(raw, &described))
	var tried []string
	for _, methods := range described.Paths {
		for _, operation := range methods {
			schema := strings.TrimPrefix(operation.RequestBody.Content["application/json"].Schema.Ref, "#/components/schemas/")
			if _, ok := described.Components.Schemas[schema].Properties["dry_run"]; ok {
				tried = append(tried, operation.OperationID)
			}
		}
	}
	w := newChangeWorld(t, func(s *harness.Server) string {
		tenants := `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`
		s.Policy("t", "tenant", tenants)
		s.Table("last", `SELECT 'b' AS tenant`, nil, column{"tenant", "string"})
		s.Policy("last", "tenant", tenants)
		return "tenant"
	})
	boss := w.s.Member("boss@acme.example", "admin", map[string]string{"tenant": "a"})
	sent := 0
	for _, id := range tried {
		for _, ask := range changeRoutes(w)[id] {
			if ask.class == wholeTable {
				ask.body.(object)["dry_run"] = true
				r := boss.Call(methodOf(id), w.target(ask), ask.body)
				require.NotContains(t, string(r.Body), "table_partly_visible", id)
				sent++
			}
		}
	}
	require.GreaterOrEqual(t, sent, 4, "vacuum, two of optimize, a move")
	audited := func() int {
		found := w.s.Admin.OK("GET", "/v1/organisations/"+w.s.Boot.OrganisationID+"/audit?action=table.changed_beyond_own_view", nil)
		return len(slices.DeleteFunc(found["entries"].(list), func(e any) bool { return e.(object)["userId"] != boss.User }))
	}
	boss.OK("PATCH", w.s.TablePath("last"), object{"name": "end"})
	require.Eventually(t, func() bool { return audited() > 0 }, time.Minute, 100*time.Millisecond)
	require.Equal(t, 1, audited(), "entries have the order of events")
	boss.OK("POST", "/v1/storages/move", object{"sourceConfigId": w.config, "sourcePath": "t", "destinationConfigId": w.config,
		"destinationPath": "moved"})
	require.Eventually(t, func() bool { return audited() == 2 }, time.Minute, 100*time.Millisecond, "the move itself, once")

	// What is judged again before its commit has one entry.
	path := w.s.TablePath("end")
	version := w.s.Admin.Version(path)
	boss.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "c", "expr": "tenant <> ''"}}})
	boss.OK("POST", path+"/constraints", object{"constraints": list{object{"name": "d", "expr": "tenant <> 'b'"}}})
	boss.Call("POST", path+"/constraints/d/validate", nil).Problem(t, 409)
	boss.OK("POST", path+"/restore", object{"version": version})
	boss.OK("PATCH", path, object{"name": "last"})
	require.Eventually(t, func() bool { return audited() >= 7 }, time.Minute, 100*time.Millisecond)
	require.Equal(t, 7, audited())
}
