package tables

import (
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/api/problem"
	v1 "github.com/lakewarden/lakewarden/api/v1"
)

// RowsBody is a body of rows, which only the operation reads.
type RowsBody struct {
	CSVQuery
	ContentEncoding string `header:"Content-Encoding" doc:"How the body is compressed: gzip or zstd"`

	contentType string
	reader      io.Reader
	interrupt   func()
}

// Resolve stores the reader of the body.
func (b *RowsBody) Resolve(ctx huma.Context) []error {
	b.contentType, b.reader = ctx.Header("Content-Type"), ctx.BodyReader()
	b.ContentEncoding = contentEncoding(ctx)
	b.interrupt = func() { _ = ctx.SetReadDeadline(time.Now()) }
	return nil
}

var _ huma.Resolver = (*RowsBody)(nil)

// contentEncoding returns the values of all fields Content-Encoding as one list.
func contentEncoding(ctx huma.Context) string {
	var values []string
	ctx.EachHeader(func(name, value string) {
		if strings.EqualFold(name, "Content-Encoding") {
			values = append(values, value)
		}
	})
	return strings.Join(values, ",")
}

// rowFormatsIn maps media types to formats of rows.
var rowFormatsIn = map[string]write.Format{
	"application/json": write.JSON, "application/x-ndjson": write.NDJSON, "application/jsonl": write.NDJSON, "text/csv": write.CSV,
	"application/vnd.apache.arrow.stream": write.Arrow, "application/vnd.apache.parquet": write.Parquet,
}

// rows returns the body in the format that Content-Type names.
func (b *RowsBody) rows() (write.Body, error) {
	media, parameters, err := mime.ParseMediaType(b.contentType)
	format, known := rowFormatsIn[media]
	if err != nil || !known {
		return write.Body{}, badMedia("Content-Type", "must be "+v1.FormatList)
	}
	header := parameters["header"]
	switch charset := parameters["charset"]; {
	case charset != "" && !strings.EqualFold(charset, "utf-8"):
		return write.Body{}, badMedia("charset", "must be utf-8")
	case hasOther(parameters, format):
		return write.Body{}, badMedia("Content-Type", "has a parameter that is not taken: text/csv has charset and header, the other formats "+
			"charset")
	case header != "" && header != "absent" && header != "present":
		return write.Body{}, badMedia("Content-Type", "header must be absent or present")
	}
	body := write.Body{Format: format, Reader: b.reader, Interrupt: b.interrupt}
	if body.Coding, err = write.ParseCoding(b.ContentEncoding); err != nil {
		return write.Body{}, badMedia("Content-Encoding", "must be gzip or zstd, once")
	}
	return body, b.apply(&body, header, parameters["charset"] != "")
}

// hasOther reports whether a media type has parameters that would be ignored.
func hasOther(parameters map[string]string, format write.Format) bool {
	for name := range parameters {
		if name != "charset" && (name != "header" || format != write.CSV) {
			return true
		}
	}
	return false
}

func badMedia(field, message string) error {
	return &problem.Refusal{Code: "unsupported_media_type", Details: []problem.Detail{{Field: field, Message: message}}}
}

// IsStream reports whether the body of a request is a stream of rows or a file, which the
// operation limits itself.
func IsStream(r *http.Request) bool {
	if r.Method == http.MethodPost && r.URL.Path == inferPath {
		return true
	}
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/v1/tables/") ||
		!strings.HasSuffix(r.URL.Path, "/rows") && !strings.HasSuffix(r.URL.Path, "/rows/merge") {
		return false
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	format, known := rowFormatsIn[media]
	return err == nil && known && format != write.JSON
}

// rowsRequest describes a body of rows. In JSON the body may also have the given members.
func rowsRequest(members map[string]*huma.Schema) *huma.RequestBody {
	row := &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeObject, AdditionalProperties: true},
		{Type: huma.TypeArray, Items: &huma.Schema{}}}}
	properties := map[string]*huma.Schema{
		"rows": {Type: huma.TypeArray, Items: row, Description: "Objects by column, or arrays in the order of the table"},
	}
	maps.Copy(properties, members)
	content := map[string]*huma.MediaType{
		"application/json": {Schema: &huma.Schema{Type: huma.TypeObject, Properties: properties, Required: []string{"rows"},
			AdditionalProperties: false}},
	}
	for media := range rowFormatsIn {
		if content[media] == nil {
			content[media] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		}
	}
	return &huma.RequestBody{Required: true, Content: content}
}

// mergeMembers returns the members of a merge other than the rows.
func mergeMembers() map[string]*huma.Schema {
	most, mostKeys := 100, 10_000
	return map[string]*huma.Schema{
		"on": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}, MaxItems: &most,
			Description: "Column names; default: the primary key"},
		"delete": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}, MaxItems: &mostKeys,
			Description: "Keys of rows that are deleted in the same commit: objects with the columns that the merge is on. Asks for rows:delete. " +
				"A key that no visible row has does nothing"},
		"when_matched":     {Type: huma.TypeString, Enum: []any{"update", "ignore", "delete"}, Description: "Default update"},
		"when_not_matched": {Type: huma.TypeString, Enum: []any{"insert", "ignore"}, Description: "Default insert"},
	}
}
