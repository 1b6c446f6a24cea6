package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/engine"
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
	if err := moveAll(files, stage, dir); err != nil {
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
	if err := c.start(kindWrite, out.b, timeout); err != nil {
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

// moveAll gives the files, which are on disk already, their final place. After a
// failure none of them is left there.
func moveAll(files []engine.DataFile, stage, dir string) error {
	moved := 0
	err := func() error {
		for _, f := range files {
			if !filepath.IsLocal(f.Name) || filepath.Base(f.Name) != f.Name {
				return errors.New("not a file name: " + f.Name)
			}
			if err := os.Rename(filepath.Join(stage, f.Name), filepath.Join(dir, f.Name)); err != nil {
				return err
			}
			moved++
		}
		return syncDir(dir)
	}()
	if err == nil {
		return nil
	}
	for _, f := range files[:moved] {
		err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name)))
	}
	return err
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
