package v1

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/result"
)

// The limits of a JSON result, which is meant for people and small results.
const (
	JSONRows  = 100_000
	JSONBytes = 100 << 20
)

// The trailers of rows: whether the result is truncated, and the token of the next page.
const (
	TrailerTruncated = "X-Truncated"
	TrailerNextPage  = "X-Next-Page-Token"
)

var rowFormats = []string{string(result.JSON), string(result.NDJSON), string(result.CSV), string(result.Arrow), string(result.Parquet)}

// FormatList is a list of the formats of rows for error messages.
var FormatList = strings.Join(rowFormats[:len(rowFormats)-1], ", ") + " or " + rowFormats[len(rowFormats)-1]

// QueryResult describes rows as JSON. Package api/result writes them as they arrive, so
// no value of this type exists.
type QueryResult struct {
	Columns   []resultColumn `json:"columns" nullable:"false"`
	Rows      []resultRow    `json:"rows" nullable:"false"`
	RowCount  int64          `json:"row_count"`
	Truncated bool           `json:"truncated" doc:"The result goes on behind these rows"`
	QueryID   string         `json:"query_id" format:"uuid" doc:"As in the audit log"`
	ElapsedMS int64          `json:"elapsed_ms"`
}

// RowPage describes one page of rows as JSON.
type RowPage struct {
	QueryResult
	NextPageToken string `json:"next_page_token,omitempty" doc:"Token of the next page; absent on the last one"`
}

type resultColumn struct {
	Name string `json:"name"`
	Type string `json:"type" doc:"DuckDB's name of the type"`
}

// resultRow holds one value for each column.
type resultRow []any

// Schema returns the schema of a list of any values.
func (resultRow) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{}, Description: "Values in the order of columns"}
}

// rowsResponse describes rows in every format, with headers and trailers.
func rowsResponse(api huma.API, document reflect.Type) *huma.Response {
	content := map[string]*huma.MediaType{}
	for _, m := range rowFormats {
		content[m] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	content["application/json"].Schema = api.OpenAPI().Components.Schemas.Schema(document, true, "")
	sent := []string{"X-Query-Id", TrailerTruncated}
	if document == reflect.TypeFor[RowPage]() {
		sent = append(sent, TrailerNextPage)
	}
	return &huma.Response{Description: "Rows, in the format that Accept asks for", Headers: headers(api, sent...), Content: content}
}
