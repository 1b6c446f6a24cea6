package duckdb

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
	"github.com/lakewarden/lakewarden/engine/duckdb/scan"
	"github.com/lakewarden/lakewarden/engine/workdir"
)

var _ engine.Engine = (*Engine)(nil)

// Options configures an engine. The zero value works where the extensions lie
// in ./extensions.
type Options struct {
	// ExtensionDirs are searched in order for <version>/<platform>/<name>.duckdb_extension.
	ExtensionDirs []string
	// Extensions are those that sessions may load: httpfs reads remote stores, the others read
	// the logs of tables. Default: delta and httpfs.
	Extensions []string
	// Verified are extension files that the engine of a parent process has verified. If it is
	// set, ExtensionDirs and Extensions are ignored.
	Verified []extension.Verified
	// TempDir receives one directory of this engine, in which sessions spill. Directories that
	// engines of ended processes left there are removed. Default: the system's.
	TempDir string
	// Lease has the defaults for fields that a statement's lease leaves zero. Default: 1 GiB,
	// all processors, 10 GiB of spill.
	Lease engine.Lease
}

func (o Options) extensionDirs() []string {
	if len(o.ExtensionDirs) == 0 {
		return []string{"extensions"}
	}
	return o.ExtensionDirs
}

func (o Options) extensions() []string {
	if o.Extensions == nil {
		return []string{extension.Log, extension.Remote}
	}
	return o.Extensions
}

// Engine runs sessions in this process. It is safe for concurrent use.
type Engine struct {
	lease      engine.Lease
	extensions []extension.File
	temp       *workdir.Dir
	turns      turns
	trimmer    *trimmer
	spare      *spare
	checked    scan.Checked

	mu       sync.Mutex
	closed   bool
	sessions map[*session]struct{}
}

// New verifies the extension files and returns an engine without sessions. It fails with
// [extension.ErrUnusable] if a file is missing or cannot be trusted.
func New(ctx context.Context, opts Options) (*Engine, error) {
	e := &Engine{lease: withDefaults(opts.Lease), turns: newTurns(), sessions: map[*session]struct{}{}}
	e.trimmer, e.spare = &trimmer{turns: e.turns}, &spare{turns: e.turns}
	var err error
	if opts.Verified != nil {
		e.extensions, err = extension.Trust(opts.Verified)
	} else {
		e.extensions, err = extension.VerifyAll(ctx, opts.extensionDirs(), opts.extensions())
	}
	if err != nil {
		return nil, err
	}
	if e.temp, err = sandbox.NewTempDir(opts.TempDir); err != nil {
		return nil, err
	}
	return e, nil
}

// Verified returns the files that the engine loads. An engine of a child process that gets
// them as [Options.Verified] does not check the signatures again, which would take longer than
// the rest of its start.
func (e *Engine) Verified() []extension.Verified {
	files := make([]extension.Verified, len(e.extensions))
	for i, x := range e.extensions {
		files[i] = x.Verified()
	}
	return files
}

// Version is the DuckDB version in this binary, as extension directories name
// it: v1.5.5.
func Version() string { return duck.LibraryVersion() }

// Probe locks every kind of instance down as for a caller and attacks it from within. It
// returns [sandbox.ErrBreached] if an attack succeeds, or fails but leaves a trace outside.
func (e *Engine) Probe(ctx context.Context) error {
	kinds := []kind{{}, {log: true}}
	if e.readsRemote() {
		kinds = append(kinds, kind{remote: true}, kind{log: true, remote: true})
	}
	for _, k := range kinds {
		if err := sandbox.Probe(ctx, e.temp.Path(), k.extensions(e.extensions)); err != nil {
			return err
		}
	}
	return nil
}

// Open starts a session. Statements open its instances as needed.
func (e *Engine) Open(ctx context.Context, opts engine.SessionOptions) (engine.Session, error) {
	if ctx.Err() != nil {
		return nil, engine.Interrupted(engine.CauseContext)
	}
	roots := make([]string, len(opts.Roots))
	for i, root := range opts.Roots {
		real, err := realRoot(root)
		if err != nil {
			return nil, err
		}
		roots[i] = real
	}
	scratch := ""
	if opts.Scratch != "" {
		var err error
		if scratch, err = realRoot(opts.Scratch); err != nil {
			return nil, err
		}
		roots = append(roots, scratch)
	}
	if opts.Remote != nil {
		if err := e.admit(opts.Remote); err != nil {
			return nil, err
		}
	}
	s := &session{owner: e, roots: roots, remote: opts.Remote, scratch: scratch, closing: make(chan struct{})}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, engine.Interrupted(engine.CauseClosed)
	}
	e.sessions[s] = struct{}{}
	if scratch != "" {
		return writer{s}, nil
	}
	return s, nil
}

// realRoot resolves the links of an absolute directory.
func realRoot(dir string) (string, error) {
	if err := native.CheckText(dir); err != nil {
		return "", err
	}
	if !filepath.IsAbs(dir) {
		return "", native.InternalError("root", "not an absolute directory: "+dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &engine.Error{Kind: engine.KindIO, Class: "root", Position: -1, Text: native.Clip(err.Error())}
	}
	return real, nil
}

// readsRemote reports whether sessions can read remote stores.
func (e *Engine) readsRemote() bool {
	return slices.ContainsFunc(e.extensions, func(x extension.File) bool { return x.Name == extension.Remote })
}

// admit checks that sessions can read through r.
func (e *Engine) admit(r *engine.Remote) error {
	if !e.readsRemote() {
		return &extension.Error{Name: extension.Remote, Reason: "not among the engine's extensions"}
	}
	return sandbox.CheckRemote(r)
}

// Close closes all sessions, waits for them and removes the engine's temporary
// files. It is idempotent.
func (e *Engine) Close() error {
	e.mu.Lock()
	again := e.closed
	e.closed = true
	open := make([]*session, 0, len(e.sessions))
	for s := range e.sessions {
		open = append(open, s)
	}
	e.mu.Unlock()
	errs := make([]error, len(open))
	var wg sync.WaitGroup
	for i, s := range open {
		wg.Go(func() { errs[i] = s.Close() })
	}
	wg.Wait()
	e.spare.stop()
	e.trimmer.stop()
	if !again {
		errs = append(errs, e.temp.Remove())
	}
	return errors.Join(errs...)
}

func (e *Engine) remove(s *session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.sessions, s)
}

func (e *Engine) sessionDir() (string, error) { return e.temp.Make("session-") }

func (e *Engine) defaults(l engine.Lease) engine.Lease {
	if l.Memory <= 0 {
		l.Memory = e.lease.Memory
	}
	if l.Threads <= 0 {
		l.Threads = e.lease.Threads
	}
	if l.TempBytes <= 0 {
		l.TempBytes = e.lease.TempBytes
	}
	l.Timeout = 0
	return l
}

func withDefaults(l engine.Lease) engine.Lease {
	if l.Memory <= 0 {
		l.Memory = 1 << 30
	}
	if l.Threads <= 0 {
		l.Threads = runtime.NumCPU()
	}
	if l.TempBytes <= 0 {
		l.TempBytes = 10 << 30
	}
	return l
}
