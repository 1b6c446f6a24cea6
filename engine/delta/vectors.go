package delta

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

const (
	// inlineBytes is the size up to which a deletion vector is stored inline, so that
	// readers need no request for it.
	inlineBytes = 256
	// parallelRequests bounds the concurrent requests of one call.
	parallelRequests = 16
)

// WritesVectors reports whether rows of the table may be deleted by deletion vectors:
// its property and its protocol enable them.
func (s *Snapshot) WritesVectors() bool {
	return s.flag(propDV) && supports(s.state.protocol, featDV)
}

// DeletedRows returns the rows of the file that its deletion vector hides; the empty
// set if it has none. Errors: [ErrMalformed], [ErrTooLarge], [ErrUnsafePath],
// [ErrLogBroken] if the vector's file does not exist, and those of the bucket.
func (s *Snapshot) DeletedRows(ctx context.Context, f File) (*deletion.Rows, error) {
	d := f.Add.DeletionVector
	if d == nil {
		return deletion.None(), nil
	}
	rows, err := s.readVector(ctx, d)
	if err != nil {
		return nil, vectorError(f, d, err)
	}
	if n, ok := numRecords(f.Add.Stats); ok && rows.End() > n {
		return nil, vectorError(f, d, fmt.Errorf("names row %d of %d: %w", rows.End()-1, n, ErrMalformed))
	}
	return rows, nil
}

// vectorError adds the reason to an error of reading a deletion vector. Its object is
// the deletion vector file, or the data file if the vector is inline.
func vectorError(f File, d *action.DeletionVector, err error) error {
	name, unnamed := deletion.FileName(d)
	if unnamed != nil {
		name = f.Name
	}
	err = fmt.Errorf("deletion vector of %q: %w", f.Name, missingAsBroken(err))
	if errors.Is(err, objstore.ErrNotFound) {
		return withReason(ReasonVectorMissing, name, err)
	}
	return withActionReason(ReasonVectorDamaged, name, err)
}

func (s *Snapshot) readVector(ctx context.Context, d *action.DeletionVector) (*deletion.Rows, error) {
	if rows, ok, err := deletion.DecodeInline(d); ok || err != nil {
		return rows, err
	}
	name, err := s.state.folder.vectorName(d)
	if err != nil {
		return nil, err
	}
	offset, length, err := deletion.FileRange(d)
	if err != nil {
		return nil, err
	}
	r, err := s.bucket.GetRange(ctx, name, offset, length)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	part, err := io.ReadAll(io.LimitReader(r, length))
	if err != nil {
		return nil, err
	}
	return deletion.DecodeFile(d, part)
}

// RowDeletion names the rows to delete from a live file.
type RowDeletion struct {
	File File
	Rows *deletion.Rows
}

// Deletion is the result of [Txn.DeleteRows].
type Deletion struct {
	// Rows is the number of deleted rows, without those that were deleted before.
	Rows int64
	// Files is the number of files without remaining rows.
	Files int
	// Object is the name of a new deletion vector file, or "" if none was needed. It is
	// unreferenced until the transaction is committed. After an error the file may or
	// may not exist.
	Object string
}

// DeleteRows deletes rows by deletion vectors, in addition to those already deleted. It
// removes files without remaining rows. The files count as read. Each file may be given
// once. After an error the transaction must not be committed.
//
// Errors: [FeatureError] if the table does not enable deletion vectors; [ErrInvalidTxn]
// if a file lacks one of the rows or its statistics lack the row count; those of
// [Snapshot.DeletedRows] and of the bucket.
func (t *Txn) DeleteRows(ctx context.Context, list ...RowDeletion) (Deletion, error) {
	if !t.base.WritesVectors() {
		return Deletion{}, refuseWrite(featDV, propDV+" is not set")
	}
	hidden, err := t.hiddenRows(ctx, list)
	if err != nil {
		return Deletion{}, err
	}
	var done Deletion
	var marked []markedFile
	for i, d := range list {
		total, counted := numRecords(d.File.Add.Stats)
		all := hidden[i].Union(d.Rows)
		switch {
		case !counted:
			return Deletion{}, fmt.Errorf("file %q has no count of its rows: %w", d.File.Name, ErrInvalidTxn)
		case all.End() > total:
			return Deletion{}, fmt.Errorf("row %d of %d in file %q: %w", all.End()-1, total, d.File.Name, ErrInvalidTxn)
		}
		done.Rows += all.Count() - hidden[i].Count()
		switch all.Count() {
		case hidden[i].Count():
			t.ReadFiles(d.File)
		case total:
			done.Files++
			if err := t.Remove(false, d.File); err != nil {
				return Deletion{}, err
			}
		default:
			marked = append(marked, markedFile{d.File, all, nil})
		}
	}
	if done.Object, err = t.storeVectors(ctx, marked); err != nil {
		return Deletion{Object: done.Object}, err
	}
	for _, m := range marked {
		if err := t.replaceVector(m); err != nil {
			return Deletion{Object: done.Object}, err
		}
	}
	return done, nil
}

func (t *Txn) hiddenRows(ctx context.Context, list []RowDeletion) ([]*deletion.Rows, error) {
	hidden := make([]*deletion.Rows, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelRequests)
	for i, d := range list {
		g.Go(func() (err error) {
			hidden[i], err = t.base.DeletedRows(ctx, d.File)
			return err
		})
	}
	return hidden, g.Wait()
}

// markedFile is a file with deleted and remaining rows.
type markedFile struct {
	file   File
	rows   *deletion.Rows
	vector *action.DeletionVector
}

// storeVectors sets the deletion vectors of the files: small ones inline, the others in
// one new object.
func (t *Txn) storeVectors(ctx context.Context, files []markedFile) (object string, err error) {
	var sets []*deletion.Rows
	var large []*markedFile
	for i := range files {
		f := &files[i]
		if f.rows.EncodedBytes() > inlineBytes {
			sets, large = append(sets, f.rows), append(large, f)
		} else if f.vector, err = deletion.Inline(f.rows); err != nil {
			return "", err
		}
	}
	if len(large) == 0 {
		return "", nil
	}
	id, err := uuid.Parse(t.base.opts.NewID())
	if err != nil {
		return "", fmt.Errorf("id of a file of deletion vectors: %v: %w", err, ErrInvalidTxn)
	}
	object, body, vectors, err := deletion.EncodeFile(id, sets)
	if err != nil {
		return "", err
	}
	for i, f := range large {
		f.vector = vectors[i]
	}
	if err := t.base.bucket.PutIfAbsent(ctx, object, body); err != nil {
		return object, fmt.Errorf("writing deletion vectors: %w", err)
	}
	return object, nil
}

// replaceVector replaces the deletion vector of a file (protocol, "Writer Requirement
// for Deletion Vectors").
func (t *Txn) replaceVector(m markedFile) error {
	stats, err := looseStats(m.file.Add.Stats)
	if err != nil {
		return fmt.Errorf("statistics of %q: %w", m.file.Name, err)
	}
	if err := t.Remove(false, m.file); err != nil {
		return err
	}
	add := *m.file.Add
	add.Stats, add.DeletionVector, add.DataChange = stats, m.vector, true
	t.addOld(&add)
	return nil
}

// addOld adds a file whose rows were in the table before.
func (t *Txn) addOld(add *action.Add) {
	if t.old == nil {
		t.old = make(map[string]struct{})
	}
	t.old[add.Path] = struct{}{}
	t.adds = append(t.adds, add)
}

// looseStats returns the statistics with tightBounds=false, because the rows at the
// bounds may be deleted. The row count is unchanged. The error is [ErrMalformed].
func looseStats(stats string) (string, error) {
	var doc map[string]jsontext.Value
	if err := json.Unmarshal([]byte(stats), &doc); err != nil {
		return "", ErrMalformed
	}
	doc["tightBounds"] = jsontext.Value("false")
	text, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return "", ErrMalformed
	}
	return string(text), nil
}
