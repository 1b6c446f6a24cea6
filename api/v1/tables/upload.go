package tables

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/ops/infer"
	"github.com/lakewarden/lakewarden/api/problem"
)

// inferPath is the path of the route that infers schemas.
const inferPath = "/v1/tables/infer-schema"

// uploadBody is a multipart body with a file, which is read as a stream.
type uploadBody struct {
	contentType string
	encoding    string
	reader      io.Reader
	interrupt   func()
}

// Resolve stores the reader of the body.
func (b *uploadBody) Resolve(ctx huma.Context) []error {
	b.contentType, b.encoding, b.reader = ctx.Header("Content-Type"), contentEncoding(ctx), ctx.BodyReader()
	b.interrupt = func() { _ = ctx.SetReadDeadline(time.Now()) }
	return nil
}

var _ huma.Resolver = (*uploadBody)(nil)

// uploadForm holds the fields other than the file.
type uploadForm struct {
	schema, name, fileName string
	options                infer.CSVOptions
	seen                   map[string]bool
}

// The bounds of a field other than the file, and of the number of parts.
const (
	maxFormField = 8 << 10
	maxFormParts = 32
)

// read stores the file and returns the other fields, which may precede or follow it.
func (b *uploadBody) read(upload *infer.Upload) (uploadForm, error) {
	form := uploadForm{seen: map[string]bool{}}
	media, parameters, err := mime.ParseMediaType(b.contentType)
	if err != nil || media != "multipart/form-data" || parameters["boundary"] == "" {
		return form, badMedia("Content-Type", "must be multipart/form-data with a boundary")
	}
	body, err := infer.Decompress(b.reader, b.encoding)
	if err != nil {
		return form, badMedia("Content-Encoding", "must be gzip or zstd, once")
	}
	defer func() { _ = body.Close() }()
	parts := multipart.NewReader(body, parameters["boundary"])
	for n := 0; ; n++ {
		part, err := parts.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			return form, nil
		case err != nil:
			return form, badUpload(err)
		case n == maxFormParts:
			return form, invalidField("file", "must be one of at most 32 parts")
		}
		if err := form.take(part, upload, b.interrupt); err != nil {
			return form, err
		}
	}
}

// take reads one part.
func (f *uploadForm) take(part *multipart.Part, upload *infer.Upload, interrupt func()) error {
	name := part.FormName()
	if name == "file" {
		f.fileName = part.FileName()
		if err := upload.Spool(part, part.Header.Get("Content-Encoding"), interrupt); err != nil {
			return badUpload(err)
		}
		return nil
	}
	if f.seen[name] {
		return invalidField(name, "must be sent once")
	}
	f.seen[name] = true
	text, err := io.ReadAll(io.LimitReader(part, maxFormField+1))
	switch {
	case err != nil:
		return badUpload(err)
	case len(text) > maxFormField:
		return invalidField(name, "is too long")
	case name == "schema":
		f.schema = string(text)
	case name == "name":
		f.name = string(text)
	case name == "csv_columns" || !f.options.Set(name, string(text)):
		return invalidField(name, "is not a field of this request")
	}
	return nil
}

// badUpload returns the error for a body that is not multipart. Errors of the operation and of
// the connection remain.
func badUpload(err error) error {
	var tooLarge *http.MaxBytesError
	var refusal *problem.Refusal
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), strings.HasPrefix(err.Error(), "multipart: "),
		strings.HasPrefix(err.Error(), "malformed MIME header"):
		if errors.As(err, &tooLarge) || errors.As(err, &refusal) {
			return err
		}
		return &problem.Refusal{Code: "invalid_body", Cause: err,
			Details: []problem.Detail{{Field: "body", Message: "is not multipart/form-data, or is cut off"}}}
	}
	return err
}

// uploadRequest describes the body.
func uploadRequest() *huma.RequestBody {
	text := func(description string, values ...any) *huma.Schema {
		most := maxFormField
		return &huma.Schema{Type: huma.TypeString, Description: description, Enum: values, MaxLength: &most}
	}
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: &huma.Schema{
		Type: huma.TypeObject, Required: []string{"file"}, AdditionalProperties: false, Properties: map[string]*huma.Schema{
			"file": {Type: huma.TypeString, Format: "binary",
				Description: "The CSV file. It may be compressed with gzip or zstd, as its Content-Encoding or its first bytes tell"},
			"schema":        text("The schema of the table; without it, the reply has {schema} in its place"),
			"name":          text("The name of the table. Default: the name of the file up to its first dot"),
			"csv_delimiter": text("The separator of fields, if it is known"),
			"csv_quote":     text("The quote around fields, if it is known"),
			"csv_null":      text("Text that means NULL, in addition to the empty text"),
			"csv_null_in": text("The columns in which csv_null means NULL: all, or those that are neither text nor binary (typed)",
				"all", "typed"),
			"csv_skip":             text("The number of lines before the header, if it is known: 0 to 10000"),
			"csv_comment":          text("The character that begins comment lines, if it is known"),
			"csv_thousands":        text("The separator of groups of three digits, if it is known"),
			"csv_header":           text("Whether the file begins with the names of its columns, if it is known", "absent", "present"),
			"csv_encoding":         text("The encoding, if it is known", "utf-8", "latin-1", "windows-1252", "utf-16"),
			"csv_decimal":          text("The decimal separator of numbers, if it is known", "point", "comma"),
			"csv_date_format":      text("The format of dates, if it is known"),
			"csv_timestamp_format": text("The format of timestamps, if it is known"),
		},
	}}}}
}
