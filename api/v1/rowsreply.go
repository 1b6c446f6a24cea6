package v1

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// QueryResult describes rows as JSON. They are written as they come, by
// api/result, and never held in it.
type QueryResult struct {
	Columns   []resultColumn `json:"columns" nullable:"false"`
	Rows      []resultRow    `json:"rows" nullable:"false"`
	RowCount  int64          `json:"row_count"`
	Truncated bool           `json:"truncated" doc:"The result goes on behind these rows"`
	QueryID   string         `json:"query_id" format:"uuid" doc:"As in the audit log"`
	ElapsedMS int64          `json:"elapsed_ms"`
}

// rowPage describes one page of rows as JSON.
type rowPage struct {
	QueryResult
	NextPageToken string `json:"next_page_token,omitempty" doc:"Token of the next page; absent on the last one"`
}

type resultColumn struct {
	Name string `json:"name"`
	Type string `json:"type" doc:"DuckDB's name of the type"`
}

// resultRow holds one value for each column.
type resultRow []any

// Schema is a list of anything.
func (resultRow) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{}, Description: "Values in the order of columns"}
}

// rowsResponse describes rows in every format, with the headers before them and
// those behind them.
func rowsResponse(api huma.API, document reflect.Type) *huma.Response {
	content := map[string]*huma.MediaType{}
	for _, m := range rowFormats {
		content[m] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	content["application/json"].Schema = api.OpenAPI().Components.Schemas.Schema(document, true, "")
	sent := []string{"X-Query-Id", trailerTruncated}
	if document == reflect.TypeFor[rowPage]() {
		sent = append(sent, trailerNextPage)
	}
	return &huma.Response{Description: "Rows, in the format that Accept asks for", Headers: headers(api, sent...), Content: content}
}
