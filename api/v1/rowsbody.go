package v1

import (
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops"
	"github.com/lakewarden/lakewarden/api/problem"
)

// RowsBody is a body of rows, which is not read before the operation wants it.
type RowsBody struct {
	contentType string
	reader      io.Reader
}

// Resolve keeps the reader of the body.
func (b *RowsBody) Resolve(ctx huma.Context) []error {
	b.contentType, b.reader = ctx.Header("Content-Type"), ctx.BodyReader()
	return nil
}

var _ huma.Resolver = (*RowsBody)(nil)

// rowFormatsIn are the formats of rows by media type.
var rowFormatsIn = map[string]ops.RowFormat{
	"application/json": ops.RowsJSON, "application/x-ndjson": ops.RowsNDJSON, "application/jsonl": ops.RowsNDJSON, "text/csv": ops.RowsCSV,
	"application/vnd.apache.arrow.stream": ops.RowsArrow, "application/vnd.apache.parquet": ops.RowsParquet,
}

// rows is the body in the format that Content-Type names.
func (b *RowsBody) rows() (ops.RowsBody, error) {
	media, parameters, err := mime.ParseMediaType(b.contentType)
	format, known := rowFormatsIn[media]
	if err != nil || !known {
		return ops.RowsBody{}, &problem.Refusal{Code: "unsupported_media_type"}
	}
	if charset := parameters["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return ops.RowsBody{}, &problem.Refusal{Code: "unsupported_media_type", Details: []problem.Detail{{Field: "charset", Message: "must be utf-8"}}}
	}
	body := ops.RowsBody{Format: format, Reader: b.reader}
	body.CSV.NoHeader = parameters["header"] == "absent" // RFC 4180
	return body, nil
}

// IsStream reports whether the body of a request is a stream of rows, which the
// operation bounds itself.
func IsStream(r *http.Request) bool {
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/tables/") ||
		!strings.HasSuffix(r.URL.Path, "/rows") && !strings.HasSuffix(r.URL.Path, "/rows/merge") {
		return false
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	format, known := rowFormatsIn[media]
	return err == nil && known && format != ops.RowsJSON
}

func rowsRequest() *huma.RequestBody {
	rows := &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{}, Description: "Objects by column, or arrays in the order of the table"}
	content := map[string]*huma.MediaType{
		"application/json": {Schema: &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{"rows": rows}, Required: []string{"rows"}}},
	}
	for media := range rowFormatsIn {
		if content[media] == nil {
			content[media] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		}
	}
	return &huma.RequestBody{Required: true, Content: content}
}
