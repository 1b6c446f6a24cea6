package worker

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/workdir"
)

var _ engine.Writer = writer{}

// writer is a session with a scratch directory.
type writer struct{ *session }

// Write implements engine.Writer. The child writes to a folder that the parent has made, so that no
// files remain if the child is lost.
func (w writer) Write(ctx context.Context, st engine.WriteStatement) ([]engine.DataFile, error) {
	if ctx.Err() != nil {
		return nil, engine.Interrupted(engine.CauseContext)
	}
	s := w.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if !filepath.IsLocal(st.Dir) && st.Dir != "" {
		return nil, internalError("location", "not a folder of the session: "+st.Dir)
	}
	dir := filepath.Join(s.opts.Scratch, filepath.FromSlash(st.Dir))
	private := filepath.Join(s.opts.Scratch, workdir.Private)
	for _, d := range []string{dir, private} {
		if err := os.MkdirAll(d, 0o750); err != nil {
			return nil, writeFailure(err)
		}
	}
	stage, err := os.MkdirTemp(private, "child-")
	if err != nil {
		return nil, writeFailure(err)
	}
	// Files that cannot be removed are removed with the scratch directory.
	defer func() { _ = os.RemoveAll(stage) }()
	st.Dir = path.Join(workdir.Private, filepath.Base(stage))
	files, err := s.write(ctx, st)
	if err != nil {
		s.clearScratch()
		return nil, s.note(err)
	}
	if err := workdir.Move(fileNames(files), stage, dir); err != nil {
		return nil, writeFailure(err)
	}
	return files, nil
}

// write makes the child write the files.
func (s *session) write(ctx context.Context, st engine.WriteStatement) ([]engine.DataFile, error) {
	var timeout time.Duration
	timeout, st.Lease.Timeout = st.Lease.Timeout, 0
	lease := leased(st.Lease)
	st.Lease.Memory = engineLimit(lease)
	message := (*sentSources)(nil).statement(st)
	if err := s.admit(message, lease); err != nil {
		return nil, err
	}
	defer s.link.proc.finish(&s.link.account)
	c, err := s.begin(ctx, kindWrite, message, timeout)
	if err != nil {
		return nil, err
	}
	defer s.current.Store(nil)
	return c.files()
}

// files reads a reply with files.
func (c *call) files() (files []engine.DataFile, err error) {
	defer c.attend()()
	for size := 0; ; {
		f, done, err := c.receive()
		if err != nil {
			return nil, err
		}
		if done {
			return files, nil
		}
		file, err := dataFile(f)
		if size += len(f.head); err != nil || size > maxHead {
			return nil, c.lose(errWire)
		}
		files = append(files, file)
	}
}

// dataFile reads a frame with a file. It refuses files and columns without a name: they would take
// many times the memory of their message.
func dataFile(f frame) (file engine.DataFile, err error) {
	if f.kind != kindFile || f.body != 0 {
		return file, errWire
	}
	if err := decodeReply(f.head, &file); err != nil {
		return file, err
	}
	if file.Name == "" || slices.ContainsFunc(file.Columns, func(c engine.ColumnStats) bool { return len(c.Path) == 0 }) {
		return file, errWire
	}
	return file, nil
}

// clearScratch waits until a lost process cannot write any more, and removes its files. It does
// nothing if the process is alive.
func (s *session) clearScratch() {
	if s.opts.Scratch == "" || s.link.proc.usable() {
		return
	}
	private := filepath.Join(s.opts.Scratch, workdir.Private)
	clear := func() { _ = os.RemoveAll(private) } // if this fails, it is removed with its parent directory
	p := s.link.proc
	switch {
	case !p.drains():
		<-p.gone
		clear()
	case s.link.abandoned: // the child may write until it ends; the result is discarded
		go func() {
			<-p.gone
			clear()
		}()
	default: // the child has closed the session
		clear()
	}
}

func writeFailure(err error) *engine.Error {
	return &engine.Error{Kind: engine.KindIO, Class: "write", Position: -1, Text: err.Error()}
}

func fileNames(files []engine.DataFile) []string {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	return names
}
