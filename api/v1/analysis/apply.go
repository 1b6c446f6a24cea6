package analysis

import (
	"encoding/csv"
	"encoding/json"
	"net/url"
	"strings"

	use "github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

// applyingOf returns the request that makes a change, or nil if there is none.
func applyingOf(at use.Location, change analysis.Change) *applying {
	table := "/v1/tables/" + url.PathEscape(at.Path.Catalog) + "/" + url.PathEscape(at.Path.Schema) + "/" + url.PathEscape(at.Path.Table)
	settings := func(name, below string, body any) *applying {
		switch name {
		case "", ".", "..":
			return nil // clients and servers clean the path, which would then name something else
		}
		return request("PUT", table+"/columns/"+url.PathEscape(name)+below, body)
	}
	switch c := change.(type) {
	case analysis.UpdateRows:
		return request("POST", table+"/rows/update", object{"where": c.Where, "set": c.Set})
	case analysis.MergeRows:
		return request("POST", table+"/rows/merge", object{"rows": c.Rows, "delete": c.Delete})
	case analysis.AddCheck:
		return request("POST", table+"/constraints", object{"constraints": []object{{"name": c.Name, "expr": c.Expr}}})
	case analysis.ForbidNull:
		return settings(c.Column, "/settings", object{"isNullable": false})
	case analysis.MakeUnique:
		return settings(c.Column, "/settings", object{"isUnique": true})
	case analysis.SetPrimaryKey:
		return request("PUT", table+"/primary-key", object{"columns": c.Columns})
	case analysis.ListDomain:
		return settings(c.Column, "/domain/fixed", object{"values": c.Values})
	case analysis.RangeDomain:
		bounds := object{}
		for name, bound := range map[string]string{"min": c.Min, "max": c.Max} {
			if bound != "" {
				bounds[name] = bound
			}
		}
		return settings(c.Column, "/domain/range", bounds)
	case analysis.MaskColumn:
		// Administrators go on seeing the values, because somebody must be able to.
		return request("POST", "/v1/organisations/"+url.PathEscape(string(at.Org))+"/policies", object{
			"tableId": at.Table, "columnName": c.Column, "kind": "mask",
			"definition": object{"effect": "permit", "subject": object{"role": "admin"}, "mask": c.Mask},
		})
	case analysis.MapColumns:
		return &applying{Method: "POST", Path: table + "/rows?csv_columns=" + url.QueryEscape(record(c.Targets)), Body: json.RawMessage("null")}
	}
	return nil
}

type object map[string]any

func request(method, path string, body any) *applying {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // a change holds plain data
	}
	return &applying{Method: method, Path: path, Body: text}
}

// record returns one CSV record without its end of line.
func record(fields []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(fields) // a strings.Builder does not fail
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}
