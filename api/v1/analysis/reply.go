package analysis

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	use "github.com/lakewarden/lakewarden/api/ops/analysis"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

type reply struct {
	Action       string               `json:"action"`
	Engine       string               `json:"engine" enum:"builtin,model" doc:"What worded the text"`
	Model        *string              `json:"model" doc:"Id of the model that worded the text; null for builtin"`
	TableVersion int64                `json:"tableVersion"`
	Sampled      bool                 `json:"sampled" doc:"Some finding comes from a part of the rows: see warnings"`
	Complete     bool                 `json:"complete" doc:"false if the caller does not see the whole table; numbers then count visible rows and columns only"`
	Confidence   float64              `json:"confidence" minimum:"0" maximum:"1"`
	Text         string               `json:"text" doc:"Tags [[row:column]] cite cells, which are among references"`
	Result       result               `json:"result"`
	Proposals    []proposal           `json:"proposals" nullable:"false"`
	References   []analysis.Reference `json:"references" nullable:"false"`
	Warnings     []string             `json:"warnings" nullable:"false"`
}

type proposal struct {
	Title         string                `json:"title"`
	Columns       []string              `json:"columns" nullable:"false"`
	Confidence    float64               `json:"confidence" minimum:"0" maximum:"1"`
	Apply         v1.Nullable[applying] `json:"apply" doc:"The request that applies the proposal; null if there is none, or if the caller lacks a scope for it"`
	RequiresScope *string               `json:"requiresScope" doc:"The scope that the caller lacks"`
	Effect        effect                `json:"effect"`
}

type applying struct {
	Method string          `json:"method"`
	Path   string          `json:"path"`
	Body   json.RawMessage `json:"body" doc:"null if the body is a file of the client"`
}

type effect struct {
	RowsAffected *int64 `json:"rowsAffected" doc:"Rows that the request writes, deletes or masks; null for a rule or an import"`
	Violations   *int64 `json:"violations" doc:"Rows that violate the new rule; null if the proposal is not a rule"`
	Complete     bool   `json:"complete" doc:"false if only visible rows were counted"`
}

// result is the document of an action.
type result struct{ document any }

// MarshalJSON implements json.Marshaler.
func (r result) MarshalJSON() ([]byte, error) { return json.Marshal(r.document) }

// Schema implements huma.SchemaProvider.
func (result) Schema(r huma.Registry) *huma.Schema {
	s := &huma.Schema{Description: "The document of the action. The schemas are in the order of the actions"}
	for _, t := range use.ResultTypes() {
		s.OneOf = append(s.OneOf, r.Schema(t, true, t.Name()))
		allowNulls(r, t, map[reflect.Type]bool{})
	}
	return s
}

func replyOf(r use.Reply) reply {
	out := reply{
		Action: string(r.Action), Engine: "builtin", TableVersion: r.Table.Version, Sampled: r.Sampled, Complete: r.Complete,
		Confidence: r.Confidence, Text: r.Text, Result: result{r.Result}, References: r.References, Warnings: r.Warnings,
		Proposals: make([]proposal, len(r.Proposals)),
	}
	if r.Model != "" {
		out.Engine, out.Model = "model", &r.Model
	}
	if out.References == nil {
		out.References = []analysis.Reference{}
	}
	if out.Warnings == nil {
		out.Warnings = []string{}
	}
	for i, p := range r.Proposals {
		out.Proposals[i] = proposal{
			Title: p.Title, Columns: p.Columns, Confidence: p.Confidence,
			Effect: effect{RowsAffected: p.Effect.Rows, Violations: p.Effect.Violations, Complete: r.Complete},
		}
		if out.Proposals[i].Columns == nil {
			out.Proposals[i].Columns = []string{}
		}
		offer := r.Offers[i]
		if offer.Applicable {
			out.Proposals[i].Apply.Value = applyingOf(r.Location, p.Change)
		}
		if offer.RequiresScope != "" {
			scope := string(offer.RequiresScope)
			out.Proposals[i].RequiresScope = &scope
		}
	}
	return out
}
