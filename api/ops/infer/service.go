package infer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/revocation"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest/contentcoding"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/csvinfer"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/sessions"
)

type (
	// Inferred describes a file.
	Inferred = csvinfer.Inferred
	// Problem is something that a load of the file would refuse, or that the file leaves open.
	Problem = csvinfer.Problem
	// ValueCount is a value with the number of rows that have it.
	ValueCount = csvinfer.ValueCount
	// CSVOptions select a dialect of CSV.
	CSVOptions = csvbody.Options
)

// Service infers schemas of CSV files on behalf of callers. It is safe for concurrent use.
type Service struct {
	Store  catalog.StorageConfigs
	Tables access.Tables
	Pool   *sessions.Pool
	// Confirmed and Revocations are those of queries.
	Confirmed   func() error
	Revocations *revocation.Watcher
	// Scratch is the directory of uploads.
	Scratch string
	// Bytes bounds an upload, decompressed.
	Bytes int64
	// BodyRows is the largest number of rows that one request loads.
	BodyRows int64
	// Timeout bounds one upload with its inference.
	Timeout time.Duration
}

// Upload is one file. It belongs to one goroutine, which calls Close at the end.
type Upload struct {
	service Service
	actor   caller.Identity
	dir     string
	spooled *csvinfer.Spooled
	ctx     context.Context
	close   func()
}

// Begin prepares an upload. Errors are those of the caller and of the session pool.
func (s Service) Begin(ctx context.Context) (*Upload, error) {
	a, err := caller.From(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Confirmed(); err != nil {
		return nil, err
	}
	if err := s.Pool.Room(string(a.Org), string(a.User)); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.Scratch, "infer-")
	if err != nil {
		return nil, err
	}
	ctx, work := s.Revocations.Begin(ctx, a)
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	return &Upload{service: s, actor: a, dir: dir, ctx: ctx, close: func() {
		cancel()
		work.Done()
		_ = os.RemoveAll(dir) // the next start removes the rest
	}}, nil
}

// Close removes the upload.
func (u *Upload) Close() { u.close() }

// errNoFile is returned for an inference without an upload, and errSecondFile for a second one:
// 422.
var (
	errNoFile     = fault.Invalid("file", "is required")
	errSecondFile = fault.Invalid("file", "must be one file")
)

// Decompress returns a request's body, of which encoding is the Content-Encoding. Close frees
// memory. The error is [contentcoding.ErrUnknown].
func Decompress(body io.Reader, encoding string) (io.ReadCloser, error) {
	coding, err := contentcoding.Parse(encoding)
	return contentcoding.NewReader(body, coding), err
}

// Spool stores the file. encoding is its Content-Encoding; empty means that the first bytes
// decide. interrupt makes a blocked read fail soon. Errors of the file are of type
// [*fault.MemberError].
func (u *Upload) Spool(body io.Reader, encoding string, interrupt func()) error {
	if u.spooled != nil {
		return errSecondFile
	}
	coding, err := contentcoding.Parse(encoding)
	if err != nil {
		return invalidFile("unsupported_media_type", "Content-Encoding must be gzip or zstd, once")
	}
	defer revocation.OnEnd(u.ctx, interrupt)()
	u.spooled, err = csvinfer.Spool(u.ctx, body, coding, u.dir, u.service.Bytes)
	return u.failure(err)
}

// Request says for which table the file is.
type Request struct {
	// Schema is the schema of the table; empty leaves it open.
	Schema string
	// Name is the name of the table; empty leaves it open.
	Name string
	// Given are the options that the caller has set.
	Given CSVOptions
}

// Infer describes the file. Errors are those of [Upload.Spool], a missing upload,
// [catalog.FieldErrors] for a name that tables cannot have, and for a schema those of the store
// and of permissions.
func (u *Upload) Infer(req Request) (*Inferred, error) {
	if err := u.permit(req.Schema); err != nil {
		return nil, err
	}
	if err := (catalog.NewTable{DeltaID: "new", Name: req.Name}).Validate(); err != nil {
		return nil, err
	}
	if u.spooled == nil {
		return nil, errNoFile
	}
	if _, err := req.Given.Dialect(); err != nil {
		return nil, err
	}
	in := csvinfer.Request{Given: req.Given, Rows: u.service.BodyRows}
	var err error
	if in.Encoding, err = u.spooled.Encoding(csvbody.Encoding(req.Given.Encoding)); err != nil {
		return nil, u.failure(err)
	}
	if in.Proposed, err = u.sniff(in.Encoding, req.Given); err != nil {
		return nil, u.failure(err)
	}
	file, err := os.Open(filepath.Join(u.dir, u.spooled.File))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	out, err := csvinfer.Infer(u.ctx, file, in)
	if err != nil {
		return nil, u.failure(err)
	}
	out.Coding = u.spooled.Coding
	return out, nil
}

// permit checks that the caller may change tables of the schema, or of the organisation if
// none is given.
func (u *Upload) permit(schema string) error {
	if schema == "" {
		return u.actor.Require(auth.ScopeTablesModify)
	}
	config, err := u.service.Store.StorageConfigBySchema(u.ctx, u.actor.Viewer, schema)
	if errors.Is(err, catalog.ErrNotFound) {
		return &fault.MemberError{Code: "not_found",
			Problems: catalog.FieldErrors{{Field: "schema", Message: "must be the schema of a storage configuration"}}}
	}
	if err != nil {
		return err
	}
	return u.service.Tables.Permit(u.ctx, u.actor, config.ID, auth.ScopeTablesModify)
}

// sniff asks an engine for the dialect. A sample that the engine cannot read proposes nothing.
func (u *Upload) sniff(encoding csvbody.Encoding, given csvbody.Options) (csvinfer.Proposal, error) {
	file, err := os.Open(filepath.Join(u.dir, u.spooled.File))
	if err != nil {
		return csvinfer.Proposal{}, err
	}
	defer func() { _ = file.Close() }()
	sample := filepath.Join(u.dir, "sample.csv")
	lead, err := csvinfer.Sample(file, encoding, given, sample)
	if err != nil || lead.Line == "" {
		return csvinfer.Proposal{Lead: lead}, err
	}
	var rows []csvinfer.Proposal
	asked := false
	key := sessions.Key{Org: string(u.actor.Org), User: string(u.actor.User)}
	err = u.service.Pool.ReadUpload(u.ctx, key, u.dir, func(held *sessions.Held) error {
		asked = true
		result, err := held.Query(u.ctx, engine.Statement{SQL: csvinfer.SniffSQL(sample, lead, given), Lease: held.Lease})
		if err == nil {
			rows, err = engine.Collect(u.ctx, result, func(r engine.Row) (csvinfer.Proposal, error) {
				return csvinfer.ReadProposal(r, lead), nil
			})
		}
		return err
	})
	var unread *engine.Error
	switch {
	case err == nil && len(rows) == 1:
		return rows[0], nil
	case err == nil, asked && u.ctx.Err() == nil && errors.As(err, &unread):
		return csvinfer.Unread(lead), nil
	}
	return csvinfer.Proposal{}, err
}

// failure names the field of an error of the file, and returns the cause of a context that has
// ended.
func (u *Upload) failure(err error) error {
	var syntax *staging.SyntaxError
	var cut *staging.CutError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return invalidFile("invalid_body", syntax.Error())
	case errors.As(err, &cut) && cut.Offset == 0:
		return invalidFile("invalid_body", "the file is empty")
	case errors.As(err, &cut):
		return invalidFile("invalid_body", cut.Error())
	}
	return revocation.EndedBy(u.ctx, err)
}

func invalidFile(code, message string) error {
	return &fault.MemberError{Code: code, Problems: catalog.FieldErrors{{Field: "file", Message: message}}}
}
