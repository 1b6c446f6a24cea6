package duckdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// ErrSandbox is returned by Probe when an attack on the engine's sandbox got
// through. The server must not serve. Not retried.
var ErrSandbox = errors.New("engine sandbox does not hold")

// Probe locks both kinds of instances down as it does for a caller and attacks
// them from within. It returns ErrSandbox when one of the attacks succeeds, or
// leaves a trace outside although it failed.
func (e *Engine) Probe(ctx context.Context) error {
	for _, extensions := range [][]extension{nil, e.extensions} {
		if err := e.probe(ctx, extensions); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) probe(ctx context.Context, extensions []extension) error {
	r, err := newRange(e.temp.path)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.dir) }()
	in, err := openSandbox(confines{extensions: extensions, roots: []string{r.root}, temp: filepath.Join(r.dir, "spill")})
	if err != nil {
		return err
	}
	defer in.close()
	for _, a := range settingsStop {
		if err := ctx.Err(); err != nil {
			return err
		}
		if in.exec(at(a.sql, r.root, r.outside)) == nil {
			return fmt.Errorf("%w: not stopped: %s", ErrSandbox, a.sql)
		}
		trace, err := r.trace()
		if err != nil {
			return err
		}
		if trace != "" {
			return fmt.Errorf("%w: %s left a trace outside: %s", ErrSandbox, a.sql, trace)
		}
	}
	// A session in which nothing works would pass the above.
	if err := in.exec("SELECT 1; COPY (SELECT 1) TO " + engine.QuoteString(filepath.Join(r.root, "allowed.parquet"))); err != nil {
		return fmt.Errorf("%w: ordinary work is refused: %w", ErrSandbox, err)
	}
	return nil
}

// targets are the files that attacks may look for outside.
var targets = map[string]string{"file.csv": "secret,1\n", "file.json": `{"secret": 1}`}

// attackRange is a directory with a root that a session sees and one beside it
// that it must not see.
type attackRange struct{ dir, root, outside string }

func newRange(temp string) (attackRange, error) {
	dir, err := os.MkdirTemp(temp, "probe-")
	if err != nil {
		return attackRange{}, err
	}
	r := attackRange{dir, filepath.Join(dir, "root"), filepath.Join(dir, "outside")}
	errs := []error{
		os.Mkdir(r.root, 0o700),
		os.Mkdir(r.outside, 0o700),
		os.Symlink(r.outside, filepath.Join(r.root, "link")),
	}
	for name, content := range targets {
		errs = append(errs, os.WriteFile(filepath.Join(r.outside, name), []byte(content), 0o600))
	}
	return r, errors.Join(errs...)
}

// trace names what is new, gone or changed outside.
func (r attackRange) trace() (string, error) {
	entries, err := os.ReadDir(r.outside)
	if err != nil {
		return "", err
	}
	var out []string
	if len(entries) < len(targets) {
		out = append(out, "a hole")
	}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(r.outside, entry.Name()))
		if want, known := targets[entry.Name()]; !known || err != nil || string(content) != want {
			out = append(out, entry.Name())
		}
	}
	return strings.Join(out, ", "), nil
}
