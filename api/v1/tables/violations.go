package tables

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/table"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
)

type ruleState struct {
	Kind       string   `json:"kind" enum:"primary_key,unique,not_null,check,domain"`
	Name       string   `json:"name" doc:"Name of the constraint or path of the column; of a domain the column"`
	Columns    []string `json:"columns"`
	Holds      bool     `json:"holds"`
	Violations *int64   `json:"violations" doc:"Number of rows, or for keys of combinations that occur more than once; null for callers who do not see all, and if a domain's values cannot be read, and for a rule that was dropped"`
	Lost       *string  `json:"lost,omitempty" enum:"field,name" doc:"How another writer has lost the rule: with the metadata of the field, after which it applies to writes through this server until its metadata is restored, or by dropping it by name, after which it applies to nobody; omitted if it is not lost"`
}

type ruleStates struct {
	Rules []ruleState `json:"rules"`
}

// ViolationRoutes registers the route that checks existing rows against rules.
func ViolationRoutes(api huma.API, tables table.Rules) {
	modify := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesModify, Camel: true, Local: true}

	v1.Add(api, modify.With("GET", v1.TableBase+"/violations", "listViolations", "Look whether the rows satisfy the rules of the table").
		Describe("Reads all rows. Other writers do not know keys and domains, nor constraints outside the table's log, so their commits "+
			"can break them. Callers who do not see the whole table learn of keys and NOT NULL only."),
		func(ctx context.Context, in *v1.TablePath) (ruleStates, error) {
			list, err := tables.Violations(ctx, in.Path())
			return ruleStates{Rules: v1.Map(list, func(s table.RuleState) ruleState {
				out := ruleState{Kind: s.Kind, Name: s.Name, Columns: s.Columns, Holds: s.Holds, Violations: s.Violations}
				if lost := string(s.Lost); lost != "" {
					out.Lost = &lost
				}
				return out
			})}, err
		})
}
