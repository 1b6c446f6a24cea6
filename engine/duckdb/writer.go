package duckdb

import (
	"context"
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
	"github.com/lakewarden/lakewarden/engine/duckdb/write"
	"github.com/lakewarden/lakewarden/engine/workdir"
)

var _ engine.Writer = writer{}

// writer is a session with a scratch directory.
type writer struct{ *session }

// Write implements [engine.Writer]. Files are written to a private folder and moved when all
// of them are complete.
func (w writer) Write(ctx context.Context, st engine.WriteStatement) (_ []engine.DataFile, err error) {
	if ctx.Err() != nil {
		return nil, engine.Interrupted(engine.CauseContext)
	}
	s := w.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return nil, err
	}
	if !filepath.IsLocal(st.Dir) && st.Dir != "" {
		return nil, sandbox.RefusedLocation(st.Dir)
	}
	dir := filepath.Join(s.scratch, filepath.FromSlash(st.Dir))
	private := filepath.Join(s.scratch, workdir.Private)
	for _, d := range []string{dir, private} {
		if err := os.MkdirAll(d, 0o750); err != nil {
			return nil, write.Failure(err)
		}
	}
	stage, err := os.MkdirTemp(private, "files-")
	if err != nil {
		return nil, write.Failure(err)
	}
	// A folder that cannot be removed is removed with the scratch directory.
	defer func() { _ = os.RemoveAll(stage) }()
	s.last = st.Sources
	c, err := s.instance(st.Statement)
	if err != nil {
		return nil, s.note(err)
	}
	g := s.guard(ctx, st.Statement, c)
	files, err := c.write(st, stage, g)
	if err != nil {
		err = c.diagnose(st.Statement, g, g.InterruptCause(err))
	}
	g.End()
	if err != nil {
		return nil, s.note(err)
	}
	if err := workdir.Move(fileNames(files), stage, dir); err != nil {
		return nil, write.Failure(err)
	}
	return files, nil
}

func fileNames(files []engine.DataFile) []string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	return names
}
