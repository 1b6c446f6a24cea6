package duckdb

import (
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// diagnose adds to the failure of a statement the file and the column that it could not read, if
// the lease allows it. DuckDB names the file for some damages and no column for most. It can report
// an interrupt of another thread in place of the failure, and the conversion of a value in a
// condition that it evaluates while it reads a file.
func (c *instance) diagnose(st engine.Statement, g *native.Guard, err error) error {
	e := native.AsError(err)
	if e == nil || !st.Lease.Diagnose {
		return err
	}
	converted := e.Kind == engine.KindRuntime && (e.Class == engine.ClassConversion || e.Class == engine.ClassCastMissing)
	if !e.Unreadable() && e.Class != native.ClassUnnamed && !converted {
		return err
	}
	sources := slices.Clone(st.Sources)
	for _, b := range st.Barriers {
		sources = append(sources, b.Source)
	}
	for _, src := range sources {
		if src.IsZero() || src.Lists() == nil {
			continue
		}
		location, refused := c.confines.Locate(src.Location)
		if refused != nil {
			continue
		}
		if file, column := c.views.Diagnose(src.Lists(), location, e.Text, converted, g.Err); file != "" {
			out := *e
			out.File, out.Column = file, column
			if !e.Unreadable() {
				out.Kind, out.Class = engine.KindIO, engine.ClassDataFile
				if converted {
					out.Class = engine.ClassFileSchema
				}
			}
			return &out
		}
	}
	return err
}
