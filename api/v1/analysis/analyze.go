package analysis

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	use "github.com/lakewarden/lakewarden/api/ops/analysis"
	longwork "github.com/lakewarden/lakewarden/api/ops/operation"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/analysis"
)

type analyzeInput struct {
	v1.TablePath
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation, whose answer is at /v1/operations/{id}/analysis"`
	Body   struct {
		Action        string           `json:"action" maxLength:"100" doc:"summary, detect_anomalies, find_duplicates, fix_nulls, explain_rows, standardize_values, suggest_domain, merge_records, explain_changes, suggest_constraints, classify_columns or suggest_mapping"`
		Model         string           `json:"model,omitempty" maxLength:"100" doc:"Id of the model that words the answer: see GET /v1/analysis/models. Default: that of the first family with a key"`
		Columns       []string         `json:"columns,omitempty" maxItems:"2000" doc:"Columns that the analysis is about; default: all that the caller sees"`
		Where         string           `json:"where,omitempty" maxLength:"65536" doc:"Condition in SQL over the table that restricts the analysis; for explain_rows it chooses the rows"`
		Keys          []map[string]any `json:"keys,omitempty" maxItems:"50" doc:"For explain_rows: the rows by values of columns, instead of where"`
		Limit         int              `json:"limit,omitempty" minimum:"1" maximum:"10000" doc:"Most findings, and most proposals; default 20"`
		VersionFrom   *int64           `json:"version_from,omitempty" minimum:"0" doc:"For explain_changes"`
		VersionTo     *int64           `json:"version_to,omitempty" minimum:"0" doc:"For explain_changes"`
		SourceColumns []sourceColumn   `json:"source_columns,omitempty" maxItems:"2000" doc:"For suggest_mapping: the header of the file, with values if there are any"`
	}
}

type explainInput struct {
	v1.TablePath
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation"`
	Body   struct {
		Model   string           `json:"model,omitempty" maxLength:"100"`
		Columns []string         `json:"columns,omitempty" maxItems:"2000" doc:"Default: all that the caller sees"`
		Where   string           `json:"where,omitempty" maxLength:"65536" doc:"Condition in SQL that chooses at most 50 rows"`
		Keys    []map[string]any `json:"keys,omitempty" maxItems:"50" doc:"The rows by values of columns, instead of where"`
	}
}

// sourceColumn is a name, or an object with a name and values.
type sourceColumn struct {
	Name   string
	Values []string
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *sourceColumn) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &c.Name)
	}
	var object struct {
		Name   string   `json:"name"`
		Values []string `json:"values"`
	}
	err := json.Unmarshal(b, &object)
	c.Name, c.Values = object.Name, object.Values
	return err
}

// Schema implements huma.SchemaProvider.
func (sourceColumn) Schema(huma.Registry) *huma.Schema {
	name, values := 255, 100
	text := 1000
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString, MaxLength: &name},
		{Type: huma.TypeObject, AdditionalProperties: false, Required: []string{"name"}, Properties: map[string]*huma.Schema{
			"name":   {Type: huma.TypeString, MaxLength: &name},
			"values": {Type: huma.TypeArray, MaxItems: &values, Items: &huma.Schema{Type: huma.TypeString, MaxLength: &text}},
		}},
	}}
}

// Routes registers the routes of analyses.
func Routes(api huma.API, analyses *use.Service) {
	query := v1.Route{Tag: "Analysis", Scope: auth.ScopeTablesQuery}
	v1.AddDeferrable(api, query.With("POST", v1.TableBase+"/analyze", "analyzeTable", "Analyze a table").
		Describe("Every number comes from statements over the rows that the caller sees. A model, if one is configured and the feature "+
			"analysis_models is on, only words the text. Nothing is changed: proposals name the request that applies them."),
		func(ctx context.Context, in *analyzeInput) (reply, *catalog.Operation, error) {
			return answer(ctx, analyses, in.TablePath, in.Prefer, in.request())
		})
	v1.AddDeferrable(api, query.With("POST", v1.TableBase+"/explain-rows", "explainRows", "Explain rows").
		Describe("What is usual and unusual about at most 50 rows, compared with the whole table. Tags [[row:column]] in the text cite cells."),
		func(ctx context.Context, in *explainInput) (reply, *catalog.Operation, error) {
			b := in.Body
			return answer(ctx, analyses, in.TablePath, in.Prefer, use.Request{Action: analysis.ExplainRows, Model: b.Model, Columns: b.Columns,
				Where: b.Where, Keys: b.Keys})
		})
	stored := v1.Route{Method: "GET", Path: v1.OperationsBase + "/{operation_id}/analysis", ID: "getOperationAnalysis", Tag: "Operations",
		Scope: auth.ScopeTablesQuery, Camel: true, Summary: "Read the answer of an analysis",
		Description: "For the owner, while its role, attributes and policies are those that the answer was made under (409 result_stale)."}
	addDocument(api, stored, func(ctx context.Context, in *documentInput) ([]byte, error) {
		id, err := catalog.ParseID[catalog.OperationID](in.OperationID)
		if err != nil {
			return nil, err
		}
		return analyses.Document(ctx, id)
	})
}

type documentInput struct {
	OperationID string `path:"operation_id" format:"uuid"`
}

// addDocument registers a route whose reply was encoded before.
func addDocument[I any](api huma.API, rt v1.Route, handler func(context.Context, *I) ([]byte, error)) {
	op := rt.Operation(api)
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[reply](), true, "")
	op.Responses["200"] = &huma.Response{Description: http.StatusText(http.StatusOK),
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	huma.Register(api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		document, err := handler(ctx, in)
		if err != nil {
			return nil, rt.Fail(ctx, err)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			ctx.SetHeader("Content-Type", "application/json")
			ctx.SetStatus(http.StatusOK)
			_, _ = ctx.BodyWriter().Write(document) // the client may have disconnected
		}}, nil
	})
}

func answer(
	ctx context.Context, analyses *use.Service, path v1.TablePath, prefer v1.Prefer, r use.Request,
) (reply, *catalog.Operation, error) {
	encode := func(r use.Reply) any { return replyOf(r) }
	out, goesOn, err := analyses.Analyze(ctx, path.Path(), r, patience(analyses.Operations, prefer), encode)
	if err != nil || goesOn != nil {
		return reply{}, goesOn, err
	}
	return replyOf(out), nil, nil
}

func patience(o longwork.Service, prefer v1.Prefer) time.Duration {
	if prefer.Async() {
		return 0
	}
	return o.Patience
}

func (in *analyzeInput) request() use.Request {
	b := in.Body
	return use.Request{
		Action: analysis.Action(b.Action), Model: b.Model, Columns: b.Columns, Where: b.Where, Keys: b.Keys, Limit: b.Limit,
		VersionFrom: b.VersionFrom, VersionTo: b.VersionTo,
		SourceColumns: v1.Map(b.SourceColumns, func(c sourceColumn) analysis.SourceColumn { return analysis.SourceColumn(c) }),
	}
}
