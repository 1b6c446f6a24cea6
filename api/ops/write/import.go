package write

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Imported describes a table that is made from the rows of a query.
type Imported struct {
	// Schema are the table's columns; the rows have columns of these names.
	Schema      delta.Struct
	PartitionBy []string
	Description string
	// Rows is a generated SELECT, whose values are cast to the types of the schema.
	Rows engine.Statement
	// Bucket is the table's folder.
	Bucket objstore.Bucket
	// Scratch is an absolute directory in which the engine can work.
	Scratch string
}

// Import makes a Delta table: its log first, so that a second import into
// the folder loses, then the data files, then one commit that adds them. A
// failure before that commit leaves an empty table: the files go, unless the
// commit may have been made. roots are what the query reads.
func Import(ctx context.Context, eng engine.Engine, roots []string, t Imported, opts delta.Options) (*delta.Snapshot, error) {
	snap, err := delta.Create(ctx, t.Bucket, delta.CreateOptions{
		Schema: t.Schema, PartitionColumns: t.PartitionBy, Description: t.Description, Options: opts,
	})
	if err != nil {
		return nil, err
	}
	session, err := eng.Open(ctx, engine.SessionOptions{Roots: roots, Scratch: t.Scratch})
	if err != nil {
		return nil, err
	}
	defer func() { _ = session.Close() }() // the caller removes the scratch directory
	writer, ok := session.(engine.Writer)
	if !ok {
		return nil, fmt.Errorf("%w: the engine does not write", errors.ErrUnsupported)
	}
	st := t.Rows
	st.SQL = importSQL(t.Schema, st.SQL)
	files, err := writer.Write(ctx, engine.WriteStatement{Statement: st, Layout: engine.FileLayout{PartitionBy: t.PartitionBy}})
	if err != nil {
		return nil, err
	}
	adds, err := datafile.Upload(ctx, snap, t.Scratch, files, nil)
	if err != nil {
		return nil, err
	}
	imported, err := addFiles(ctx, snap, adds)
	if err != nil && !errors.Is(err, delta.ErrCommitUnknown) {
		err = errors.Join(err, datafile.Withdraw(ctx, t.Bucket, adds))
	}
	return imported, err
}

// addFiles commits uploaded files.
func addFiles(ctx context.Context, snap *delta.Snapshot, adds []delta.AddFile) (*delta.Snapshot, error) {
	txn := snap.Begin(delta.Operation{Name: "WRITE", Parameters: map[string]string{"mode": action.JSONText("Append")}})
	if err := txn.Add(adds...); err != nil {
		return nil, err
	}
	return txn.Commit(ctx)
}

// importSQL casts every column to the type that the table's schema has.
func importSQL(schema delta.Struct, rows string) string {
	items := make([]string, len(schema.Fields))
	for i, f := range schema.Fields {
		name := engine.QuoteIdent(f.Name)
		items[i] = fmt.Sprintf("CAST(%s AS %s) AS %s", name, deltasql.Type(f.Type), name)
	}
	return "SELECT " + strings.Join(items, ", ") + " FROM (" + rows + "\n)"
}
