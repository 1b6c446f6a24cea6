package tables

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/table"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type newConstraint struct {
	Name string `json:"name" minLength:"1" maxLength:"128" doc:"Letters, digits and _; unique for the table in any case"`
	Expr string `json:"expr" minLength:"1" maxLength:"16384" doc:"A condition over the table's columns in DuckDB's SQL, or as the list shows it; NULL violates it"`
}

type constraint struct {
	Name      string  `json:"name"`
	Expr      string  `json:"expr" doc:"Spark's SQL where validated is true, else as it was written"`
	Validated bool    `json:"validated" doc:"All rows satisfy it, and it is in the table's log, so every writer enforces it"`
	Portable  bool    `json:"portable" doc:"Other writers can evaluate it, so the table's log can hold it"`
	Enforced  bool    `json:"enforced" doc:"false: it cannot be evaluated here, so no rows can be written here"`
	Reason    *string `json:"reason" doc:"Why it is not portable, or not enforced"`
}

type constraintList struct {
	Constraints []constraint `json:"constraints"`
}

type addConstraintsInput struct {
	v1.TablePath
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Body   struct {
		Constraints []newConstraint `json:"constraints" minItems:"1" maxItems:"100" nullable:"false"`
	}
}

type constraintInput struct {
	v1.TablePath
	Name string `path:"name" maxLength:"255"`
}

type validateConstraintInput struct {
	v1.TablePath
	Name   string    `path:"name" maxLength:"255"`
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
}

// ConstraintRoutes registers the routes of CHECK constraints.
func ConstraintRoutes(api huma.API, tables table.Rules) {
	read := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesRead, Camel: true}
	modify := v1.Route{Tag: "Tables", Scope: auth.ScopeTablesModify, Camel: true, Local: true}
	const one = v1.TableBase + "/constraints/{name}"

	v1.AddDeferrable(api, modify.With("POST", v1.TableBase+"/constraints", "addConstraints", "Add table constraints").
		Describe("All or none. New rows must satisfy them from now on; existing rows may violate them. One that other writers can evaluate "+
			"and that all rows satisfy goes into the table's log; others bind writes through this server. With Prefer: respond-async the check "+
			"of existing rows is an operation; the constraints are in force immediately."),
		func(ctx context.Context, in *addConstraintsInput) (v1.Empty, *catalog.Operation, error) {
			goesOn, err := tables.AddConstraints(ctx, in.Path(), v1.Map(in.Body.Constraints, func(c newConstraint) catalog.NewConstraint {
				return catalog.NewConstraint{Name: c.Name, Expression: c.Expr}
			}), in.Prefer.Async())
			return v1.Empty{}, goesOn, err
		})
	v1.Add(api, read.With("GET", v1.TableBase+"/constraints", "listConstraints", "List table constraints"),
		func(ctx context.Context, in *v1.TablePath) (constraintList, error) {
			list, err := tables.Constraints(ctx, in.Path())
			return constraintList{Constraints: v1.Map(list, constraintOf)}, err
		})
	v1.Add(api, read.With("GET", one, "getConstraint", "Get a table constraint"),
		func(ctx context.Context, in *constraintInput) (constraint, error) {
			c, err := tables.Constraint(ctx, in.Path(), in.Name)
			return constraintOf(c), err
		})
	v1.Add(api, modify.With("DELETE", one, "deleteConstraint", "Delete a table constraint"),
		func(ctx context.Context, in *constraintInput) (v1.Empty, error) {
			return v1.Empty{}, tables.DropConstraint(ctx, in.Path(), in.Name)
		})
	v1.AddDeferrable(api, modify.With("POST", one+"/validate", "validateConstraint", "Validate a table constraint").
		Describe("Checks all rows, and moves the constraint into the table's log if they satisfy it and other writers can evaluate it. Not "+
			"for callers whose rows are filtered. A long check becomes an operation, with Prefer: respond-async immediately."),
		func(ctx context.Context, in *validateConstraintInput) (constraint, *catalog.Operation, error) {
			c, goesOn, err := tables.ValidateConstraint(ctx, in.Path(), in.Name, in.Prefer.Async(),
				func(c table.Constraint) any { return constraintOf(c) })
			return constraintOf(c), goesOn, err
		})
}

func constraintOf(c table.Constraint) constraint {
	return constraint{
		Name: c.Name, Expr: c.Expression, Validated: c.Validated, Portable: c.Portable, Enforced: c.Enforceable, Reason: v1.Pointer(c.Reason),
	}
}
