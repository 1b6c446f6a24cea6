package worker

import (
	"errors"
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

func (e *encoder) sessionOptions(o engine.SessionOptions) {
	e.text(o.Owner)
	e.bool(o.Apart)
	e.texts(o.Roots)
	e.bool(o.Remote != nil)
	if r := o.Remote; r != nil {
		e.text(r.Endpoint)
		e.text(r.Region)
		e.text(r.AccessKey)
		e.text(r.SecretKey)
		e.texts(r.Prefixes)
	}
	e.text(o.Scratch)
}

func (d *decoder) sessionOptions() engine.SessionOptions {
	o := engine.SessionOptions{Owner: d.text(), Apart: d.bool(), Roots: d.texts()}
	if d.bool() {
		o.Remote = &engine.Remote{
			Endpoint: d.text(), Region: d.text(), AccessKey: d.text(), SecretKey: d.text(), Prefixes: d.texts(),
		}
	}
	o.Scratch = d.text()
	return o
}

func (e *encoder) statement(st engine.Statement) {
	e.text(st.SQL)
	e.args(st.Args)
	list(e, st.Sources, e.source)
	list(e, st.Barriers, func(b engine.Barrier) {
		e.text(b.Name)
		e.text(b.SQL)
		e.args(b.Args)
		e.source(b.Source)
		e.text(b.Index)
	})
	e.lease(st.Lease)
	e.bool(st.Analyze)
}

func (d *decoder) statement() engine.Statement {
	return engine.Statement{
		SQL: d.text(), Args: d.args(), Sources: items(d, d.source),
		Barriers: items(d, func() engine.Barrier {
			return engine.Barrier{Name: d.text(), SQL: d.text(), Args: d.args(), Source: d.source(), Index: d.text()}
		}),
		Lease: d.lease(), Analyze: d.bool(),
	}
}

func (e *encoder) lease(l engine.Lease) {
	e.int(l.Memory)
	e.int(int64(l.Threads))
	e.int(l.TempBytes)
	e.int(int64(l.Timeout))
}

func (d *decoder) lease() engine.Lease {
	return engine.Lease{Memory: d.int(), Threads: int(d.int()), TempBytes: d.int(), Timeout: time.Duration(d.int())}
}

func (e *encoder) plainSource(s engine.Source) {
	e.text(s.Location)
	e.int(s.Version)
	e.text(s.Incarnation)
	e.bool(s.Files != nil)
	if f := s.Files; f != nil {
		e.columns(f.Columns)
		e.bool(f.Uniform)
		list(e, f.Groups, func(g engine.FileGroup) {
			dictionary(e, g.Partition, e.optional)
			e.texts(g.Paths)
		})
		e.text(f.Positions.File)
		e.text(f.Positions.Row)
		e.columns(f.Stored)
		list(e, f.ColumnIDs, func(id int) { e.int(int64(id)) })
		list(e, f.Parts, e.fieldIDs)
		e.texts(f.Widened)
		list(e, f.Deleted, func(rows engine.DeletedRows) {
			e.int(int64(rows.File))
			e.text(string(rows.Rows))
		})
	}
}

func (d *decoder) plainSource() engine.Source {
	s := engine.Source{Location: d.text(), Version: d.int(), Incarnation: d.text()}
	if d.bool() {
		f := &engine.FileList{Columns: d.columns(), Uniform: d.bool(), Groups: items(d, func() engine.FileGroup {
			return engine.FileGroup{Partition: entries(d, d.optional), Paths: d.texts()}
		})}
		f.Positions = engine.PositionColumns{File: d.text(), Row: d.text()}
		f.Stored = d.columns()
		f.ColumnIDs = items(d, func() int { return int(d.int()) })
		f.Parts = items(d, d.fieldIDs)
		f.Widened = d.texts()
		// The address of the list is computed from what arrived, once.
		s.Files = f.WithDeleted(items(d, func() engine.DeletedRows {
			return engine.DeletedRows{File: int(d.int()), Rows: []byte(d.text())}
		}))
	}
	return s
}

func (e *encoder) columns(columns []engine.Column) {
	list(e, columns, func(c engine.Column) {
		e.text(c.Name)
		e.text(c.Type)
		e.bool(c.Nullable)
	})
}

func (d *decoder) columns() []engine.Column {
	return items(d, func() engine.Column {
		return engine.Column{Name: d.text(), Type: d.text(), Nullable: d.bool()}
	})
}

func (e *encoder) writeStatement(st engine.WriteStatement) {
	e.statement(st.Statement)
	e.text(st.Dir)
	l := st.Layout
	e.texts(l.PartitionBy)
	e.int(l.FileBytes)
	e.int(l.RowGroupRows)
	e.text(l.Codec)
	e.fieldIDs(l.FieldIDs)
	e.bool(l.Ordered)
	e.bool(l.DeltaEncoding)
	e.bool(l.NoFloats)
}

func (d *decoder) writeStatement() engine.WriteStatement {
	return engine.WriteStatement{Statement: d.statement(), Dir: d.text(), Layout: engine.FileLayout{
		PartitionBy: d.texts(), FileBytes: d.int(), RowGroupRows: d.int(), Codec: d.text(), FieldIDs: d.fieldIDs(), Ordered: d.bool(), DeltaEncoding: d.bool(), NoFloats: d.bool(),
	}}
}

func (e *encoder) fieldIDs(ids []engine.FieldID) {
	list(e, ids, func(f engine.FieldID) {
		e.text(f.Column)
		e.int(int64(f.ID))
		e.bool(f.Void)
		e.fieldIDs(f.Children)
	})
}

func (d *decoder) fieldIDs() []engine.FieldID {
	return items(d, func() engine.FieldID {
		return engine.FieldID{Column: d.text(), ID: int(d.int()), Void: d.bool(), Children: d.fieldIDs()}
	})
}

func (e *encoder) dataFiles(files []engine.DataFile) {
	list(e, files, func(f engine.DataFile) {
		e.text(f.Name)
		e.int(f.Rows)
		e.int(f.Bytes)
		dictionary(e, f.Partition, e.optional)
		list(e, f.Columns, func(c engine.ColumnStats) {
			e.texts(c.Path)
			e.optional(c.Min)
			e.optional(c.Max)
			e.bool(c.NullCount != nil)
			if c.NullCount != nil {
				e.int(*c.NullCount)
			}
			e.bool(c.HasNaN)
		})
	})
}

func (d *decoder) dataFiles() []engine.DataFile {
	return items(d, func() engine.DataFile {
		return engine.DataFile{
			Name: d.text(), Rows: d.int(), Bytes: d.int(), Partition: entries(d, d.optional),
			Columns: items(d, d.columnStats),
		}
	})
}

func (d *decoder) columnStats() engine.ColumnStats {
	c := engine.ColumnStats{Path: d.texts(), Min: d.optional(), Max: d.optional()}
	if d.bool() {
		n := d.int()
		c.NullCount = &n
	}
	c.HasNaN = d.bool()
	return c
}

// codedError is a failure of the engine that is no [engine.Error]: one that the
// table of problems knows by a code of its own.
type codedError struct{ text, code string }

func (e *codedError) Error() string { return e.text }

// ProblemCode names the line in the table of errors.
func (e *codedError) ProblemCode() string { return e.code }

// failure encodes any error.
func (e *encoder) failure(err error) {
	var own *engine.Error
	var coded interface{ ProblemCode() string }
	switch {
	case errors.As(err, &own):
		e.tag(0)
		e.int(int64(own.Kind))
		e.text(own.Class)
		e.text(own.Name)
		e.int(int64(own.Position))
		e.text(own.Text)
		e.bool(own.Timeout)
	case errors.As(err, &coded):
		e.tag(1)
		e.text(err.Error())
		e.text(coded.ProblemCode())
	default:
		e.failure(&engine.Error{Kind: engine.KindInternal, Class: "engine", Position: -1, Text: err.Error()})
	}
}

func (d *decoder) failure() error {
	if d.tag() == 1 {
		return &codedError{text: d.text(), code: d.text()}
	}
	return &engine.Error{
		Kind: engine.Kind(d.int()), Class: d.text(), Name: d.text(), Position: int(d.int()), Text: d.text(), Timeout: d.bool(),
	}
}
