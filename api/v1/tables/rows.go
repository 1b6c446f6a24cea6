package tables

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/write"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
)

type written struct {
	Version  int64 `json:"version" doc:"The version that holds the change"`
	Inserted int64 `json:"inserted"`
	Updated  int64 `json:"updated"`
	Deleted  int64 `json:"deleted"`

	KeysChecked *bool `json:"keysChecked,omitempty" doc:"For a dry run: false if keys were not compared with rows of the table, because the caller does not see all of them"`
}

func writtenOf(w write.Result) written {
	out := written{Version: w.Version, Inserted: w.Inserted, Updated: w.Updated, Deleted: w.Deleted}
	if w.KeysUnchecked {
		out.KeysChecked = new(bool)
	}
	return out
}

// WriteQuery holds the query parameters of every change of rows.
type WriteQuery struct {
	v1.TablePath
	DryRun bool   `query:"dry_run" doc:"Check everything, change nothing"`
	Key    string `header:"Idempotency-Key" maxLength:"255" doc:"A repeated request with the same key gets the first reply and is executed once"`
}

func (q WriteQuery) options() write.Options {
	return write.Options{DryRun: q.DryRun, Key: q.Key}
}

type insertInput struct {
	WriteQuery
	RowsBody
}

type mergeInput struct {
	WriteQuery
	RowsBody
	On             []string `query:"on,explode" maxItems:"100" doc:"Column names, repeated or with commas between them; default: the primary key. In a JSON body it is a member"`
	WhenMatched    string   `query:"when_matched" enum:"update,ignore,delete" doc:"Default update: the columns that a row names, except those of on"`
	WhenNotMatched string   `query:"when_not_matched" enum:"insert,ignore" doc:"Default insert"`
}

type deleteRowsInput struct {
	WriteQuery
	Body struct {
		Where string `json:"where" minLength:"1" maxLength:"65536" doc:"An SQL condition; true means every row that the caller sees"`
	}
}

type updateRowsInput struct {
	WriteQuery
	Body struct {
		Where string            `json:"where" minLength:"1" maxLength:"65536" doc:"An SQL condition; true means every row that the caller sees"`
		Set   map[string]string `json:"set" minProperties:"1" maxProperties:"1000" nullable:"false" doc:"SQL expressions over the old values, by column"`
	}
}

// RowRoutes registers the routes that change rows.
func RowRoutes(api huma.API, writes write.Service) {
	route := func(id, path, summary, description string, scope auth.Scope) v1.Route {
		return v1.Route{Method: "POST", Path: v1.TableBase + path, ID: id, Tag: "Rows", Scope: scope, Local: true, Summary: summary,
			Description: description}
	}
	insert := route("insertRows", "/rows", "Insert rows", "All of them in one commit, or none. The body is JSON {\"rows\": […]}, NDJSON, "+
		"CSV, an Arrow stream or a Parquet file; docs/rows.md says how values are written.", auth.ScopeRowsInsert)
	addWrite(api, insert, rowsRequest(nil), func(ctx context.Context, in *insertInput) (write.Result, error) {
		body, err := in.rows()
		if err != nil {
			return write.Result{}, err
		}
		return writes.Insert(ctx, in.Path(), body, in.options())
	})
	merge := route("mergeRows", "/rows/merge", "Merge rows", "Rows that meet a row of the table change it, the others are inserted; all in "+
		"one commit, or nothing. Asks for rows:insert, rows:update and rows:delete as far as the merge can do it.", "")
	addWrite(api, merge, rowsRequest(mergeMembers()), func(ctx context.Context, in *mergeInput) (write.Result, error) {
		body, err := in.rows()
		if err != nil {
			return write.Result{}, err
		}
		return writes.Merge(ctx, in.Path(), write.MergeInput{Body: body, On: v1.SplitList(in.On), WhenMatched: in.WhenMatched,
			WhenNotMatched: in.WhenNotMatched}, in.options())
	})
	update := route("updateRows", "/rows/update", "Update rows", "Those that the caller sees and that fulfil a condition, in one commit.",
		auth.ScopeRowsUpdate)
	addWrite(api, update, nil, func(ctx context.Context, in *updateRowsInput) (write.Result, error) {
		return writes.Update(ctx, in.Path(), in.Body.Where, in.Body.Set, in.options())
	})
	remove := route("deleteRows", "/rows/delete", "Delete rows", "Those that the caller sees and that fulfil a condition, in one commit.",
		auth.ScopeRowsDelete)
	addWrite(api, remove, nil, func(ctx context.Context, in *deleteRowsInput) (write.Result, error) {
		return writes.Delete(ctx, in.Path(), in.Body.Where, in.options())
	})
}

// addWrite registers a change of rows, which has its own time limit.
func addWrite[I any](api huma.API, rt v1.Route, body *huma.RequestBody, handler func(context.Context, *I) (write.Result, error)) {
	op := rt.Operation(api)
	schema := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[written](), true, "Written")
	op.Responses["200"] = &huma.Response{Description: http.StatusText(http.StatusOK),
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
	huma.Register(api, op, func(ctx context.Context, in *I) (*v1.Reply[written], error) {
		out, err := handler(ctx, in)
		if err != nil {
			return nil, rt.Fail(ctx, err)
		}
		return &v1.Reply[written]{Body: writtenOf(out)}, nil
	})
	if body != nil {
		// Set after registration: the framework reads bodies that are described, and this
		// one is a stream.
		api.OpenAPI().Paths[op.Path].Post.RequestBody = body
	}
}
