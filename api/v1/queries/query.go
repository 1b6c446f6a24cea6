package queries

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/result"
	"github.com/lakewarden/lakewarden/api/spill"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/engine"
)

type queryInput struct {
	Accept string    `header:"Accept" maxLength:"1024"`
	Prefer v1.Prefer `header:"Prefer" maxLength:"1024" doc:"respond-async: answer 202 with an operation that keeps the rows"`
	Body   queryBody
}

type queryBody struct {
	SQL        string          `json:"sql" minLength:"1" maxLength:"262144" doc:"One statement; docs/sql.md says what is served"`
	Parameters json.RawMessage `json:"parameters,omitempty" doc:"An array for ? and $1, or an object for $name"`
	RowLimit   int64           `json:"row_limit,omitempty" minimum:"1" doc:"Cut the result; JSON is cut at 100000 rows anyway"`
	ByteLimit  int64           `json:"byte_limit,omitempty" minimum:"1" doc:"Cut the result; JSON is cut at 100 MiB anyway"`
	TimeoutMS  int64           `json:"timeout_ms,omitempty" minimum:"1" maximum:"86400000"`
	Staleness  *int64          `json:"max_staleness_ms,omitempty" minimum:"0" maximum:"3600000" doc:"How long ago the log of a remote table may have been looked at: 1000 if not sent, 0 looks now. Local ones are looked at by every statement"`
	Schema     string          `json:"schema,omitempty" maxLength:"255" doc:"Schema of table names without one"`
	Integers   string          `json:"integers,omitempty" enum:"number,string" doc:"How JSON shows integers"`
}

func (b queryBody) query() (query.Statement, error) {
	args, err := parameters(b.Parameters)
	q := query.Statement{SQL: b.SQL, Args: args, Schema: b.Schema, Timeout: milliseconds(b.TimeoutMS)}
	if b.Staleness != nil {
		age := milliseconds(*b.Staleness)
		q.MaxStaleness = &age
	}
	return q, err
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

type rowsInput struct {
	v1.TablePath
	v1.Page
	Accept    string   `header:"Accept" maxLength:"1024"`
	Select    []string `query:"select,explode" maxItems:"1000" doc:"Column names, repeated or with commas between them; a value that is the name of a column with a comma is that column"`
	Where     string   `query:"where" maxLength:"4096" doc:"An SQL condition"`
	Staleness int64    `query:"max_staleness_ms" minimum:"0" maximum:"3600000" default:"1000" doc:"How long ago the log of a remote table may have been looked at when the walk begins; 0 looks now"`
	OrderBy   []string `query:"order_by,explode" maxItems:"100" doc:"Column names, each followed by asc or desc or not; repeated or with commas between them, which a name may contain too"`
}

// Routes registers the routes that return rows.
func Routes(api huma.API, queries *query.Service, stored query.Stored, room *spill.Store) {
	query := v1.Route{Method: "POST", Path: "/v1/query", ID: "query", Tag: "Query", Scope: auth.ScopeTablesQuery,
		Summary: "Run a statement", Description: "Streams rows as JSON, NDJSON, CSV, Arrow or Parquet, as Accept asks. Only JSON has a limit " +
			"by default.", Rows: reflect.TypeFor[v1.QueryResult]()}
	addStream(api, query.OrAccepted(), room, func(ctx context.Context, in *queryInput) (*streaming, error) {
		if in.Prefer.Async() {
			return startStored(ctx, stored, in.Body)
		}
		return startQuery(ctx, queries, in)
	})
	rows := v1.Route{Method: "GET", Path: v1.TableBase + "/rows", ID: "listRows", Tag: "Query", Scope: auth.ScopeTablesQuery,
		Summary: "Page through the rows of a table", Description: "All pages of a walk come from the version of the first.",
		Rows: reflect.TypeFor[v1.RowPage]()}
	browse := table.Browser{Tables: queries.Tables, Queries: queries}
	addStream(api, rows, room, func(ctx context.Context, in *rowsInput) (*streaming, error) { return startBrowse(ctx, browse, in) })
}

// addStream registers an operation that replies with rows.
func addStream[I any](api huma.API, rt v1.Route, room *spill.Store, start func(context.Context, *I) (*streaming, error)) {
	register(api, rt, rt.Operation(api), room, start)
}

func register[I any](api huma.API, rt v1.Route, op huma.Operation, room *spill.Store, start func(context.Context, *I) (*streaming, error)) {
	huma.Register(api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		s, err := start(ctx, in)
		if err != nil {
			return nil, rt.Fail(ctx, err)
		}
		s.route, s.spill = rt, room
		return s.response(), nil
	})
}

func startQuery(ctx context.Context, queries *query.Service, in *queryInput) (*streaming, error) {
	f, err := format(in.Accept)
	if err != nil {
		return nil, err
	}
	query, err := in.Body.query()
	if err != nil {
		return nil, err
	}
	rows, err := queries.Run(ctx, query)
	if err != nil {
		return nil, err
	}
	s := &streaming{rows: rows, id: rows.ID, elapsed: rows.Elapsed, format: f}
	s.limits = limitsFor(f, in.Body.RowLimit, in.Body.ByteLimit, in.Body.Integers)
	return s, nil
}

// limitsFor returns the limits of a result. Those of JSON are at most [v1.JSONRows] and
// [v1.JSONBytes].
func limitsFor(f result.Format, rows, bytes int64, integers string) result.Options {
	limits := result.Options{Rows: rows, Bytes: bytes, IntegersAsStrings: integers == "string"}
	if f == result.JSON {
		limits.Rows, limits.Bytes = capped(rows, v1.JSONRows), capped(bytes, v1.JSONBytes)
	}
	return limits
}

func capped(requested, limit int64) int64 {
	if requested == 0 {
		return limit
	}
	return min(requested, limit)
}

func startBrowse(ctx context.Context, browse table.Browser, in *rowsInput) (*streaming, error) {
	f, err := format(in.Accept)
	if err != nil {
		return nil, err
	}
	age := milliseconds(in.Staleness)
	page, err := browse.Run(ctx, table.BrowseInput{
		Table: in.Path(), Select: in.Select, Where: in.Where, OrderBy: in.OrderBy, MaxStaleness: &age,
		Page: in.Page.Catalog(),
	})
	if err != nil {
		return nil, err
	}
	return &streaming{
		rows: page.Rows, id: page.Rows.ID, elapsed: page.Rows.Elapsed, format: f, next: page.Next,
		limits: result.Options{Rows: int64(page.Size)},
	}, nil
}

// parameters decodes the values of a statement's placeholders. Numbers stay text, so that
// the engine gets all digits.
func parameters(raw json.RawMessage) (engine.Args, error) {
	if len(raw) == 0 {
		return engine.Args{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
		return engine.Args{}, v1.FieldError("parameters", "must be an array or an object")
	}
	switch v := value.(type) {
	case nil:
		return engine.Args{}, nil
	case []any:
		for i, item := range v {
			if !bindable(item, true) {
				return engine.Args{}, v1.FieldError("parameters["+strconv.Itoa(i)+"]",
					"must be null, a boolean, a number, a string or an array of those")
			}
		}
		return engine.Args{Positional: v}, nil
	case map[string]any:
		for name, item := range v {
			if !bindable(item, true) {
				return engine.Args{}, v1.FieldError("parameters."+name, "must be null, a boolean, a number, a string or an array of those")
			}
		}
		return engine.Args{Named: v}, nil
	}
	return engine.Args{}, v1.FieldError("parameters", "must be an array or an object")
}

func bindable(value any, list bool) bool {
	switch v := value.(type) {
	case nil, bool, string, json.Number:
		return true
	case []any:
		for _, item := range v {
			if !list || !bindable(item, false) {
				return false
			}
		}
		return true
	}
	return false
}
