package engine

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Engine opens isolated sessions. It is safe for concurrent use.
type Engine interface {
	// Open starts a session that may read below the given roots and nowhere else. Opening takes
	// milliseconds; callers open on first use and close idle sessions instead of holding spares.
	Open(ctx context.Context, opts SessionOptions) (Session, error)
	// Close closes every session and waits for running statements to stop.
	Close() error
}

// SessionOptions fixes what a session can access during its lifetime.
type SessionOptions struct {
	// Owner decides with which sessions this one may share a process, if the engine uses several.
	// It is opaque; sessions of different owners share nothing.
	Owner string
	// Uploads is for sessions that read files from clients, which can end their process. If the
	// engine uses several processes, such sessions of one owner share one that runs nothing else.
	Uploads bool
	// Apart gives the session a process of its own, if the engine uses several: a crash of that
	// process ends no other statement.
	Apart bool
	// Roots are absolute directories. The session reads files below them.
	Roots []string
	// Remote is the endpoint from which the session reads s3:// locations; nil means that it reads
	// none.
	Remote *Remote
	// Scratch is an existing absolute directory that belongs to this session alone. The session
	// reads it like a root, writes new files to it and spills to it. With a scratch directory the
	// session is also a [Writer]. The name .engine in the directory is reserved for the engine. The
	// caller removes the directory after the session is closed.
	Scratch string
}

// Remote is a read-only endpoint of the S3 protocol on loopback, with a key made for one session.
// The key is not a credential of any object store.
type Remote struct {
	// Endpoint is host:port. The connection does not use TLS.
	Endpoint string
	// Region, AccessKey and SecretKey sign the requests (AWS Signature 4).
	Region, AccessKey, SecretKey string
	// Prefixes are the locations that the session may read: s3://bucket/prefix/.
	Prefixes []string
}

// Session is one sandboxed engine instance. It runs one statement at a time
// and is not safe for concurrent use, except for Close and Broken.
type Session interface {
	// Warm opens in advance what the first statement would open. It is optional, may run
	// concurrently with the planning of that statement, and returns at once if the session is open.
	Warm(ctx context.Context) error
	// Query starts st. The caller closes the result, also after an error of
	// Next. Cancelling ctx interrupts the statement; the error of Next is then
	// an [Error] of kind [KindInterrupted].
	// Errors are of type *[Error].
	Query(ctx context.Context, st Statement) (Result, error)
	// Idle releases memory between two statements: it lowers the engine's limit and drops filtered
	// copies beyond keepBytes.
	Idle(ctx context.Context, keepBytes int64) error
	// Broken reports whether a fatal error has made the session useless. A
	// broken session must be closed and replaced.
	Broken() bool
	// Close frees everything that the session holds, including temporary files. It interrupts a
	// running statement. It is idempotent.
	Close() error
}

// Result streams the rows of one statement.
type Result interface {
	// Schema is the Arrow schema of every batch.
	Schema() *arrow.Schema
	// Columns holds the result's columns with their SQL type names, in order.
	Columns() []Column
	// Next returns the next batch, or io.EOF after the last one. The caller releases the batch.
	// Other errors are of type *[Error]. A result that failed never returns io.EOF.
	Next(ctx context.Context) (arrow.RecordBatch, error)
	// Close stops the statement if it is still running and frees its resources. It is idempotent.
	Close() error
}

// Parser converts SQL text to DuckDB's JSON syntax tree and back. It is separate from every session
// and has neither extensions nor access to files. It is safe for concurrent use.
type Parser interface {
	// Serialize parses sql, which may hold any number of statements. Errors are of type *[Error]
	// with [KindSyntax] or [KindNotSelect], and have a position if the engine reports one.
	Serialize(ctx context.Context, sql string) ([]byte, error)
	// Deserialize prints a tree as SQL.
	Deserialize(ctx context.Context, tree []byte) (string, error)
}

// Column is one column of a table or of a result.
type Column struct {
	Name     string
	Type     sqltype.Type
	Nullable bool
}

// MarshalBinary encodes the column for messages between processes.
func (c Column) MarshalBinary() ([]byte, error) {
	out := []byte{0}
	if c.Nullable {
		out[0] = 1
	}
	out = append(binary.AppendUvarint(out, uint64(len(c.Name))), c.Name...)
	if c.Type != nil {
		out = append(out, c.Type.String()...)
	}
	return out, nil
}

// UnmarshalBinary reads what MarshalBinary returned.
func (c *Column) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		return errColumn
	}
	n, size := binary.Uvarint(b[1:])
	if size <= 0 || n > uint64(len(b)-1-size) {
		return errColumn
	}
	rest := b[1+size:]
	out := Column{Name: string(rest[:n]), Nullable: b[0] == 1}
	if text := string(rest[n:]); text != "" {
		t, err := sqltype.Parse(text)
		if err != nil {
			return err
		}
		out.Type = t
	}
	*c = out
	return nil
}

// columnText is the form of a column in stored results.
type columnText struct {
	Name, Type string
	Nullable   bool
}

// MarshalJSON encodes the column for stored results, with its type as text.
func (c Column) MarshalJSON() ([]byte, error) {
	return json.Marshal(columnText{c.Name, c.Type.String(), c.Nullable})
}

// UnmarshalJSON reads what MarshalJSON returned.
func (c *Column) UnmarshalJSON(b []byte) error {
	var text columnText
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	t, err := sqltype.Parse(text.Type)
	if err != nil {
		return err
	}
	*c = Column{Name: text.Name, Type: t, Nullable: text.Nullable}
	return nil
}

var errColumn = errors.New("engine: malformed column")

// Equal reports whether two columns have the same name, type and nullability.
func (c Column) Equal(other Column) bool {
	return c.Name == other.Name && c.Nullable == other.Nullable && sqltype.Equal(c.Type, other.Type)
}
