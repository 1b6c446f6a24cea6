package operation_test

import (
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// describedDomains asks every operation on domains, and the inference of schemas.
func describedDomains(c *describedCalls, s *harness.Server) {
	path := s.Create("parcels", nil, harness.Col("id", "long"), harness.Col("state", "string"), harness.Col("place", "string"))
	s.Create("places", nil, harness.Col("state", "string"), harness.Col("place", "string"))
	s.Admin.Write(s.TablePath("places")+"/rows", harness.RowsOf(object{"state": "sent", "place": "here"}, object{"place": "there"}))
	s.Admin.Write(path+"/rows", harness.RowsOf(object{"id": 1, "state": "sent", "place": "here"}))
	of := func(column string, more ...string) []string {
		return append([]string{"lake", s.Schema, "parcels", column}, more...)
	}
	source := "lake." + s.Schema + ".places"
	id := func(d object, list string, i int) string {
		values, _ := d[list].([]any)
		return values[i].(object)["id"].(string)
	}

	form, media := harness.Upload{Name: "parcels.csv", Content: "id,state\n1,sent\n2,sent\n"}.Form(s.T)
	c.Call(s.Admin, 200, "inferSchema", nil, form, "Content-Type", media)
	c.Call(s.Admin, 200, "setRangeDomain", of("id"), object{"min": "0", "max": "9"})
	d := c.Call(s.Admin, 200, "setFixedDomain", of("state"), object{"values": list{"new", object{"value": "sent", "label": "Sent"}}})
	at := d["domain"].(object)
	c.Call(s.Admin, 200, "getDomain", of("state"), nil)
	c.Call(s.Admin, 200, "listAllowedValues", of("state"), nil)
	c.Call(s.Admin, 200, "checkValueInUse", of("state", "?value=sent"), nil)
	c.Call(s.Admin, 200, "addValue", of("state"), object{"value": "lost"})
	c.Call(s.Admin, 200, "changeValue", of("state", id(at, "allowed_values", 1)), object{"value": "gone"})
	c.Call(s.Admin, 200, "deleteValue", of("state", id(at, "allowed_values", 0)), nil)
	c.Call(s.Admin, 200, "setReferenceDomain", of("state"), object{"table_path": source, "column": "state"})
	c.Call(s.Admin, 200, "setLookupDomain", of("place"), object{"parent_column": "state", "table_path": source, "parent_key": "state",
		"child_key": "place"})
	c.Call(s.Admin, 200, "setInlineDomain", of("place"), object{"parent_column": "state", "parents": list{object{"value": "gone",
		"children": list{"here"}}}})
	at = c.Call(s.Admin, 200, "addParent", of("place"), object{"value": "lost"})["domain"].(object)
	lost := id(at, "allowed_values", 1)
	at = c.Call(s.Admin, 200, "addChild", of("place", lost), object{"value": "nowhere"})["domain"].(object)
	child := id(at["lookup"].(object)["mappings"].(object), "lost", 0)
	c.Call(s.Admin, 200, "deleteChild", of("place", lost, child), nil)
	c.Call(s.Admin, 200, "deleteParent", of("place", lost), nil)
	c.Call(s.Admin, 200, "deleteDomain", of("place"), nil)

	org := s.Boot.OrganisationID
	shared := c.Call(s.Admin, 201, "createSharedDomain", []string{org}, object{"name": "states", "type": "fixed", "values": list{"gone", "x"}})
	one := shared["id"].(string)
	c.Call(s.Admin, 200, "setSharedDomain", of("state"), object{"domain_id": one})
	c.Call(s.Admin, 200, "listSharedDomains", []string{org}, nil)
	c.Call(s.Admin, 200, "getSharedDomain", []string{org, one}, nil)
	c.Call(s.Admin, 200, "addSharedValue", []string{org, one}, object{"value": "y"})
	c.Call(s.Admin, 200, "changeSharedValue", []string{org, one, id(shared, "allowed_values", 0)}, object{"value": "sent"})
	now := c.Call(s.Admin, 200, "deleteSharedValue", []string{org, one, id(shared, "allowed_values", 1)}, nil)
	c.Call(s.Admin, 200, "replaceSharedDomain", []string{org, one}, object{"name": "states", "type": "fixed", "values": list{"sent"},
		"expected_version": now["version"]})
	s.Admin.OK("DELETE", path+"/columns/state/domain", nil)
	c.Call(s.Admin, 200, "deleteSharedDomain", []string{org, one}, nil)

	tree := object{"name": "tree", "type": "hierarchical", "parents": list{}}
	one = c.Call(s.Admin, 201, "createSharedDomain", []string{org}, tree)["id"].(string)
	parent := id(c.Call(s.Admin, 200, "addSharedParent", []string{org, one}, object{"value": "p"}), "allowed_values", 0)
	shared = c.Call(s.Admin, 200, "addSharedChild", []string{org, one, parent}, object{"value": "c"})
	child = id(shared["lookup"].(object)["mappings"].(object), "p", 0)
	c.Call(s.Admin, 200, "deleteSharedChild", []string{org, one, parent, child}, nil)
	c.Call(s.Admin, 200, "deleteSharedParent", []string{org, one, parent}, nil)
}
