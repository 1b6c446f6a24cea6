package policies

import (
	"context"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/catalog"
)

type simulateInput struct {
	v1.OrgPath
	Body struct {
		TableFqn   string            `json:"tableFqn" maxLength:"1024"`
		UserID     *string           `json:"userId,omitempty" nullable:"true" format:"uuid" doc:"A member; or role with attributes"`
		Role       *string           `json:"role,omitempty" nullable:"true" enum:"viewer,editor,builder,admin"`
		Attributes map[string]string `json:"attributes,omitempty"`
	}
}

type simulation struct {
	TableFqn        string            `json:"tableFqn"`
	Restricted      bool              `json:"restricted" doc:"false: every row is visible"`
	Predicate       string            `json:"predicate" doc:"The row filter in SQL; empty when unrestricted"`
	VisibleRowCount int64             `json:"visibleRowCount"`
	HiddenColumns   []string          `json:"hiddenColumns" doc:"Columns that do not exist for the subject"`
	MaskedColumns   []maskedColumn    `json:"maskedColumns"`
	Policies        []EffectivePolicy `json:"policies"`
	Warnings        []warning         `json:"warnings" doc:"Tests of the policies that decide less than they seem to"`
}

type maskedColumn struct {
	ColumnName string `json:"columnName"`
	Mask       string `json:"mask" enum:"null,hash,last4,year"`
}

// EffectivePolicy is a policy that applies to a user.
type EffectivePolicy struct {
	ID         *string `json:"id,omitempty"`
	Kind       string  `json:"kind" enum:"rls,cls,mask"`
	ColumnName *string `json:"columnName"`
}

type userPoliciesInput struct {
	v1.MemberPath
	TableFqn string `query:"tableFqn" required:"true" maxLength:"1024"`
}

func simulationOf(s admin.Simulated) simulation {
	masked := []maskedColumn{}
	for _, name := range slices.Sorted(maps.Keys(s.Masks)) {
		masked = append(masked, maskedColumn{name, s.Masks[name]})
	}
	return simulation{TableFqn: s.TableFQN, Restricted: s.Restricted, Predicate: s.Predicate, VisibleRowCount: s.VisibleRows,
		HiddenColumns: append([]string{}, s.HiddenColumns...), MaskedColumns: masked,
		Warnings: v1.Map(s.Warnings, warningOf),
		Policies: v1.Map(s.Policies, func(p catalog.Policy) EffectivePolicy {
			return EffectivePolicy{ID: v1.Pointer(p.ID), Kind: string(p.Kind), ColumnName: v1.Pointer(p.Column)}
		})}
}

func simulationRoutes(api huma.API, write v1.Route, sim admin.Simulation) {
	v1.AddIn(api, write.With("POST", "/v1/organisations/{org_id}/policies/simulate", "simulatePolicies", "See a table as somebody else would"),
		func(ctx context.Context, org catalog.OrgID, in *simulateInput) (simulation, error) {
			s, err := sim.Run(ctx, org, admin.SimulationInput{TableFQN: in.Body.TableFqn, User: v1.Text(in.Body.UserID), Role: v1.Text(in.Body.Role),
				Attributes: in.Body.Attributes})
			return simulationOf(s), err
		})
	v1.AddOne(api, write.With("GET", "/v1/organisations/{org_id}/users/{user_id}/effective-policies", "listUserEffectivePolicies",
		"The policies that apply to a member on a table"),
		func(ctx context.Context, org catalog.OrgID, user catalog.UserID, in *userPoliciesInput) (simulation, error) {
			s, err := sim.Run(ctx, org, admin.SimulationInput{TableFQN: in.TableFqn, User: string(user)})
			return simulationOf(s), err
		})
}
