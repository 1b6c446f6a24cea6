package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// ErrBreached is returned when an attack on the sandbox succeeded. The server must not serve.
// Do not retry.
var ErrBreached = errors.New("engine sandbox does not hold")

// Probe locks an instance with the given extensions down as for a caller and attacks it from
// within. It works in a new directory below temp. It returns ErrBreached when an attack
// succeeds, or fails but leaves a trace outside.
func Probe(ctx context.Context, temp string, extensions []extension.File) error {
	r, err := newRange(ctx, temp)
	if err != nil {
		return err
	}
	defer r.remove()
	holds := func(name string) bool {
		return slices.ContainsFunc(extensions, func(x extension.File) bool { return x.Name == name })
	}
	remote := holds(extension.Remote)
	c := Confines{Extensions: extensions, Roots: []string{r.root}, Temp: filepath.Join(r.dir, "spill")}
	attacks := settingsStop
	if remote {
		c.Remote = r.decoy.remote()
		attacks = slices.Concat(settingsStop, remoteStop)
	}
	in, err := open(c)
	if err != nil {
		return err
	}
	defer in.Close()
	for _, a := range attacks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if in.Exec(r.at(a.sql)) == nil {
			return fmt.Errorf("%w: not stopped: %s", ErrBreached, a.sql)
		}
		trace, err := r.trace()
		if err != nil {
			return err
		}
		if trace != "" {
			return fmt.Errorf("%w: %s left a trace outside: %s", ErrBreached, a.sql, trace)
		}
	}
	// A session in which nothing works would pass the above.
	if err := in.Exec("SELECT 1; COPY (SELECT 1) TO " + engine.QuoteString(filepath.Join(r.root, "allowed.parquet"))); err != nil {
		return fmt.Errorf("%w: ordinary work is refused: %w", ErrBreached, err)
	}
	if !remote {
		return nil
	}
	if err := r.probeReading(in); err != nil || !holds(extension.Log) {
		return err
	}
	// There is no table, but the extension must have requested its log.
	_ = in.Exec("FROM delta_scan(" + engine.QuoteString(decoyPrefix+"t") + ")")
	if len(r.decoy.take()) == 0 {
		return fmt.Errorf("%w: requests to 127.0.0.1 go elsewhere: is it missing in NO_PROXY?", ErrBreached)
	}
	return nil
}

// probeReading reads from the decoy by the names that mislead: a query would
// turn the request to another place, a pattern to other names.
func (r attackRange) probeReading(in *native.Instance) error {
	for name, want := range map[string]string{
		"x?s3_endpoint=127.0.0.1:1&s3_use_ssl=true": "x%3Fs3_endpoint%3D127.0.0.1%3A1%26s3_use_ssl%3Dtrue",
		"*": "%2A",
	} {
		r.decoy.take()
		if err := in.Exec("FROM read_text(" + engine.QuoteString(decoyPrefix+name) + ")"); err != nil {
			return fmt.Errorf("%w: a remote object cannot be read: %w", ErrBreached, err)
		}
		asked := r.decoy.take()
		want = "/probe/root/" + want + " " + decoyKey
		if len(asked) == 0 || slices.ContainsFunc(asked, func(a string) bool { return a != want }) {
			return fmt.Errorf("%w: asked for %q, not for %q", ErrBreached, asked, want)
		}
	}
	return nil
}

// targets are the files outside that attacks try to read.
var targets = map[string]string{"file.csv": "secret,1\n", "file.json": `{"secret": 1}`}

// attackRange is a directory with a root that a session sees and a sibling that it must not
// see, and the same in the network.
type attackRange struct {
	dir, root, outside string
	decoy              *decoy
}

func newRange(ctx context.Context, temp string) (attackRange, error) {
	dir, err := os.MkdirTemp(temp, "probe-")
	if err != nil {
		return attackRange{}, err
	}
	r := attackRange{dir: dir, root: filepath.Join(dir, "root"), outside: filepath.Join(dir, "outside")}
	if r.decoy, err = newDecoy(ctx); err != nil {
		_ = os.RemoveAll(dir)
		return attackRange{}, err
	}
	errs := []error{
		os.Mkdir(r.root, 0o700),
		os.Mkdir(r.outside, 0o700),
		os.Symlink(r.outside, filepath.Join(r.root, "link")),
	}
	for name, content := range targets {
		errs = append(errs, os.WriteFile(filepath.Join(r.outside, name), []byte(content), 0o600))
	}
	if err := errors.Join(errs...); err != nil {
		r.remove()
		return attackRange{}, err
	}
	return r, nil
}

// remove deletes the directory and closes the decoy, after every instance that reads from it.
func (r attackRange) remove() {
	r.decoy.close()
	_ = os.RemoveAll(r.dir)
}

// at returns the statement of an attack in this range.
func (r attackRange) at(sql string) string {
	return at(sql, r.root, r.outside, r.decoy.remote().Endpoint)
}

// trace names new, missing and changed files outside, and the requests to the decoy.
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
	return strings.Join(append(out, r.decoy.take()...), ", "), nil
}
