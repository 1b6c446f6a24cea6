package tables

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/infer"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

type inferredField struct {
	Name     string `json:"name"`
	Type     string `json:"type" doc:"Arrow's name of the type: utf8, int64, decimal128(12,2), timestamp[us, tz=UTC] …"`
	Nullable bool   `json:"nullable" doc:"Whether the column has a NULL in the file"`
}

type inferredSchema struct {
	Fields []inferredField `json:"fields"`
}

type valueCount struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

type fixedValues struct {
	Values []string `json:"values"`
}

type applyDomain struct {
	Method string      `json:"method" enum:"PUT"`
	Path   string      `json:"path"`
	Body   fixedValues `json:"body"`
}

type domainCandidate struct {
	ColumnName    string       `json:"columnName"`
	DistinctCount int          `json:"distinctCount"`
	Values        []valueCount `json:"values" doc:"Most frequent first"`
	Apply         applyDomain  `json:"apply" doc:"The request that makes the values the column's domain"`
}

type inferredDialect struct {
	Delimiter       string  `json:"delimiter"`
	Quote           string  `json:"quote"`
	Header          bool    `json:"header"`
	Encoding        string  `json:"encoding"`
	Decimal         string  `json:"decimal" enum:"point,comma"`
	DateFormat      *string `json:"dateFormat" doc:"null for ISO 8601"`
	TimestampFormat *string `json:"timestampFormat" doc:"null for ISO 8601"`
	NullText        *string `json:"nullText"`
	NullIn          string  `json:"nullIn" enum:"all,typed" doc:"The columns in which nullText means NULL"`
	Skip            int     `json:"skip" doc:"The number of lines before the header, not counting one that declares the delimiter"`
	Comment         *string `json:"comment" doc:"The character that begins comment lines, or null"`
	Thousands       *string `json:"thousands" doc:"The separator of groups of three digits, or null"`
	Compression     *string `json:"compression" doc:"gzip, zstd or null"`
}

type inferredProblem struct {
	Line    int64  `json:"line" doc:"From 1"`
	Message string `json:"message"`
}

type inferredColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type" doc:"Delta's name of the type"`
	Nullable bool   `json:"nullable"`
}

type newTable struct {
	Catalog string           `json:"catalog"`
	Schema  string           `json:"schema"`
	Name    string           `json:"name"`
	Columns []inferredColumn `json:"columns"`
}

type loadRequest struct {
	Method  string            `json:"method" enum:"POST"`
	Path    string            `json:"path"`
	Query   string            `json:"query" doc:"The query string, encoded; empty if the file needs no option"`
	Headers map[string]string `json:"headers" doc:"Content-Type and, for a compressed file, Content-Encoding"`
}

type inferredTable struct {
	Schema           inferredSchema    `json:"schema"`
	DomainCandidates []domainCandidate `json:"domainCandidates" doc:"Columns of text with at most 100 distinct values, each of which occurs twice on average"`
	RowCount         int64             `json:"rowCount"`
	Dialect          inferredDialect   `json:"dialect"`
	Problems         []inferredProblem `json:"problems" doc:"Guesses, what a load of the file would refuse, and what the file leaves open: the first hundred"`
	ProblemCount     int64             `json:"problemCount" doc:"All problems, also those beyond the first hundred"`
	CreateTable      newTable          `json:"createTable" doc:"A body for POST /v1/tables"`
	Load             loadRequest       `json:"load" doc:"The request that loads the same file into the table"`
}

// InferRoutes registers the route that infers schemas.
func InferRoutes(api huma.API, service infer.Service) {
	rt := v1.Route{
		Method: "POST", Path: inferPath, ID: "inferSchema", Tag: "Tables", Scope: auth.ScopeTablesModify, Local: true, Camel: true,
		Summary: "Infer the schema of a CSV file",
		Description: "Reads the whole file and changes nothing: docs/inference.md says how types are decided. The file may be compressed " +
			"with gzip or zstd.",
	}
	op := rt.Operation(api)
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[inferredTable](), true, "InferredTable")
	op.Responses["200"] = &huma.Response{Description: http.StatusText(http.StatusOK),
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	huma.Register(api, op, func(ctx context.Context, in *uploadBody) (*v1.Reply[inferredTable], error) {
		out, err := inferSchema(ctx, service, in)
		if err != nil {
			return nil, rt.Fail(ctx, err)
		}
		return &v1.Reply[inferredTable]{Body: out}, nil
	})
	// Set after registration: the framework reads bodies that are described, and this one
	// is a stream.
	api.OpenAPI().Paths[op.Path].Post.RequestBody = uploadRequest()
}

func inferSchema(ctx context.Context, service infer.Service, in *uploadBody) (inferredTable, error) {
	upload, err := service.Begin(ctx)
	if err != nil {
		return inferredTable{}, err
	}
	defer upload.Close()
	form, err := in.read(upload)
	if err != nil {
		return inferredTable{}, err
	}
	name := form.name
	if name == "" {
		name = tableName(form.fileName)
	}
	out, err := upload.Infer(infer.Request{Schema: form.schema, Name: form.name, Given: form.options})
	if err != nil {
		return inferredTable{}, err
	}
	return inferredOf(out, form.schema, name), nil
}

// tableName derives the name of a table from that of a file.
func tableName(file string) string {
	file = file[strings.LastIndexAny(file, `/\`)+1:]
	stem, _, _ := strings.Cut(file, ".")
	return catalog.PathName(stem, "table")
}

// openSchema takes the place of a schema that the request does not name.
const openSchema = "{schema}"

func inferredOf(in *infer.Inferred, schema, name string) inferredTable {
	escaped := url.PathEscape(schema)
	if schema == "" {
		schema, escaped = openSchema, openSchema
	}
	base := "/v1/tables/" + catalog.CatalogName + "/" + escaped + "/" + url.PathEscape(name)
	out := inferredTable{
		Schema: inferredSchema{Fields: []inferredField{}}, DomainCandidates: []domainCandidate{}, RowCount: in.Rows, ProblemCount: in.Total,
		Problems:    v1.Map(in.Problems, func(p infer.Problem) inferredProblem { return inferredProblem(p) }),
		CreateTable: newTable{Catalog: catalog.CatalogName, Schema: schema, Name: name, Columns: []inferredColumn{}},
		Load:        loadRequest{Method: http.MethodPost, Path: base + "/rows", Headers: map[string]string{"Content-Type": "text/csv"}},
		Dialect:     dialectOf(in),
	}
	for _, c := range in.Columns {
		out.Schema.Fields = append(out.Schema.Fields, inferredField{c.Name, c.Type.Arrow(), c.Nullable})
		out.CreateTable.Columns = append(out.CreateTable.Columns, inferredColumn{c.Name, c.Type.Delta(), c.Nullable})
		if c.Values == nil {
			continue
		}
		candidate := domainCandidate{
			ColumnName: c.Name, DistinctCount: len(c.Values),
			Values: v1.Map(c.Values, func(v infer.ValueCount) valueCount { return valueCount(v) }),
			Apply:  applyDomain{Method: http.MethodPut, Path: base + "/columns/" + url.PathEscape(c.Name) + "/domain/fixed"},
		}
		for _, v := range c.Values {
			candidate.Apply.Body.Values = append(candidate.Apply.Body.Values, v.Value)
		}
		out.DomainCandidates = append(out.DomainCandidates, candidate)
	}
	query := url.Values{}
	for name, text := range in.Options.All() {
		if text != "" {
			query.Set(name, text)
		}
	}
	out.Load.Query = strings.ReplaceAll(query.Encode(), "+", "%20")
	if in.Coding != "" {
		out.Load.Headers["Content-Encoding"] = string(in.Coding)
	}
	return out
}

func dialectOf(in *infer.Inferred) inferredDialect {
	o := in.Dialect()
	skip, _ := strconv.Atoi(o.Skip) // empty, or checked
	return inferredDialect{
		Delimiter: o.Delimiter, Quote: o.Quote, Header: o.Header == "present", Encoding: o.Encoding, Decimal: o.Decimal,
		DateFormat: v1.Pointer(o.DateFormat), TimestampFormat: v1.Pointer(o.TimestampFormat), NullText: v1.Pointer(o.Null),
		NullIn: o.NullIn, Skip: skip, Comment: v1.Pointer(o.Comment), Thousands: v1.Pointer(o.Thousands),
		Compression: v1.Pointer(string(in.Coding)),
	}
}
