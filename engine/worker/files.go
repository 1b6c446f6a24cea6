package worker

import (
	"context"
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/workdir"
)

// filesOwner is the seat of the process that writes files. No session has it:
// their seats carry a prefix.
const filesOwner = "files"

// WriteFiles implements engine.FileWriter in a process for this purpose alone.
// The child writes into a hidden directory of the parent's making, so that
// nothing stays when it is lost; the parent moves complete files below Dir.
func (e *Engine) WriteFiles(ctx context.Context, req engine.WriteRequest) (_ []engine.DataFile, err error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, interrupted(causeClosed)
	}
	e.writes.Add(1)
	e.mu.Unlock()
	defer e.writes.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.writing, cancel)()

	dir := req.Dir
	if !filepath.IsAbs(dir) {
		return nil, &engine.Error{Kind: engine.KindIO, Class: "directory", Position: -1, Text: dir}
	}
	stage, err := os.MkdirTemp(dir, ".writing-")
	if err != nil {
		return nil, &engine.Error{Kind: engine.KindIO, Class: "directory", Position: -1, Text: err.Error()}
	}
	// What cannot be removed is hidden, and no part of any table.
	defer func() { _ = os.RemoveAll(stage) }()
	req.Dir = stage
	files, err := e.writeFiles(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := workdir.Move(fileNames(files), stage, dir); err != nil {
		return nil, &engine.Error{Kind: engine.KindIO, Class: "write", Position: -1, Text: err.Error()}
	}
	return files, nil
}

// writeFiles has the child write below req.Dir.
func (e *Engine) writeFiles(ctx context.Context, req engine.WriteRequest) ([]engine.DataFile, error) {
	l, err := e.dial(ctx, filesOwner)
	if err != nil {
		return nil, err
	}
	defer l.close()
	if !l.proc.begin(&l.account, leased(req.Lease)) {
		return nil, fatal(engine.ClassLost, "the process is ending")
	}
	timeout := req.Lease.Timeout
	req.Lease.Timeout = 0
	var out encoder
	out.writeRequest(req)
	c := l.newCall(ctx)
	if err := c.start(kindFiles, out.b, timeout); err != nil {
		return nil, err
	}
	f, err := c.wait()
	if err != nil {
		return nil, err
	}
	d := decoder{b: f.head}
	files := d.dataFiles()
	if d.done() != nil {
		return nil, c.lose(errWire)
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
