package problem

import (
	"net/http"

	"github.com/lakewarden/lakewarden/catalog"
)

// deniedReasons describes what a caller lacks if it is not a scope and the code does not
// name it. Scopes are checked first, so these callers have theirs.
var deniedReasons = map[string]Detail{
	"unseen_dependants": {"dependants", "the caller does not see all columns of the domain whose rows may have the value"},

	"rows_filtered": {"table", "this is for callers who see all rows and columns of the table"},

	"table_partly_visible": {"table", "this changes the whole table, of which policies hide a part from the caller; " +
		"see \"Changes of the whole table\" in docs/policies.md; rls_policies:write is missing"},
}

func deniedFields(e *catalog.DeniedError, yield func(string, string) bool) {
	if e.Scope != "" {
		yield("scope", e.Scope+" is missing")
	} else if d, ok := deniedReasons[e.Reason]; ok {
		yield(d.Field, d.Message)
	}
}

func deniedCode(e *catalog.DeniedError) string {
	switch {
	case e.Scope != "":
		return "insufficient_scope"
	case byName[e.Reason].Status == http.StatusForbidden:
		return e.Reason
	}
	return "forbidden"
}
