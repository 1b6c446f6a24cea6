package extension

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// File is a file that passed DuckDB's signature check when the engine
// started. Sessions load it without that check, which costs 130 ms each time.
type File struct {
	Name string
	Path string
	sum  [sha256.Size]byte
	info fs.FileInfo
}

// Remote is the extension that reads the S3 protocol, Log the one that reads the log of Delta
// tables.
const (
	Remote = "httpfs"
	Log    = "delta"
)

// checked holds the verified files of this process by their paths, so that a second engine
// does not check the same 80 MB again.
var checked sync.Map

// Platform is DuckDB's name for this system, as extension directories use it:
// linux_amd64.
func Platform() (string, error) {
	in, err := native.Open(native.BaseConfig())
	if err != nil {
		return "", err
	}
	defer in.Close()
	var out string
	err = in.Each(`SELECT platform FROM pragma_platform()`, engine.Args{}, func(r engine.Row) error {
		out = r.Text(0)
		return nil
	})
	return out, err
}

// location returns the path of an extension in a directory of extensions.
func location(dir, platform, name string) string {
	return filepath.Join(dir, duck.LibraryVersion(), platform, name+".duckdb_extension")
}

// Find returns the first file of that name in the search order.
func Find(dirs []string, platform, name string) (string, error) {
	for _, dir := range dirs {
		abs, err := filepath.Abs(location(dir, platform, name))
		if err != nil {
			return "", &Error{Name: name, Reason: "the search path is not usable: " + err.Error()}
		}
		switch info, err := os.Stat(abs); {
		case err == nil && info.Mode().IsRegular():
			return abs, nil
		case err == nil:
			return "", &Error{Name: name, Path: abs, Reason: "not a regular file"}
		case !errors.Is(err, fs.ErrNotExist):
			return "", &Error{Name: name, Path: abs, Reason: "cannot be read"}
		}
	}
	return "", &Error{Name: name, Reason: "not found in " + strings.Join(dirs, ", ") + " for DuckDB " + duck.LibraryVersion() +
		" on " + platform}
}

// Verify loads the file once with DuckDB's signature check and records its fingerprint.
func Verify(name, path string) (File, error) {
	bad := func(reason string) (File, error) {
		return File{}, &Error{Name: name, Path: path, Reason: reason}
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return bad("cannot be read")
	}
	if p := writableByOthers(path); p != "" {
		return File{}, &Error{Name: name, Path: path, Reason: p + " is writable by everyone",
			Remedy: "take write permission for others away (chmod o-w)"}
	}
	if known, ok := checked.Load(path); ok && known.(File).Unchanged() == nil {
		return known.(File), nil
	}
	before, err := fingerprint(name, path)
	if err != nil {
		return bad("cannot be read")
	}
	in, err := native.Open(native.BaseConfig())
	if err != nil {
		return bad("no engine to check it with")
	}
	defer in.Close()
	if err := in.Exec("LOAD " + engine.QuoteString(path)); err != nil {
		return bad("wrong or damaged file; DuckDB " + duck.LibraryVersion() + " does not accept it")
	}
	after, err := fingerprint(name, path)
	if err != nil || after.sum != before.sum || before.Unchanged() != nil {
		return bad("changed while it was being checked")
	}
	checked.Store(path, after)
	return after, nil
}

// VerifyAll finds the named extension files in dirs and verifies them. Errors match
// [ErrUnusable].
func VerifyAll(ctx context.Context, dirs, names []string) ([]File, error) {
	platform, err := Platform()
	if err != nil {
		return nil, err
	}
	var found []File
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		path, err := Find(dirs, platform, name)
		if err != nil {
			return nil, err
		}
		ext, err := Verify(name, path)
		if err != nil {
			return nil, err
		}
		found = append(found, ext)
	}
	return found, nil
}

// Unchanged checks that the file is still the one that was verified.
func (e File) Unchanged() error {
	info, err := os.Stat(e.Path)
	if err != nil || !os.SameFile(info, e.info) || info.Size() != e.info.Size() || !info.ModTime().Equal(e.info.ModTime()) {
		return &Error{Name: e.Name, Path: e.Path, Reason: "changed since the server started",
			Remedy: "restart the server to check it again"}
	}
	return nil
}

func fingerprint(name, path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return File{}, err
	}
	e := File{Name: name, Path: path, info: info}
	h.Sum(e.sum[:0])
	return e, nil
}

// writableByOthers returns the first of path and its parents that everyone may write to, or
// "". A sticky directory protects its entries, but not the directory that holds the file,
// where everyone could add names.
func writableByOthers(path string) string {
	const others = 0o002
	for p, depth := path, 0; ; p, depth = filepath.Dir(p), depth+1 {
		info, err := os.Stat(p)
		if err != nil {
			return p
		}
		if info.Mode().Perm()&others != 0 && (depth < 2 || info.Mode()&fs.ModeSticky == 0) {
			return p
		}
		if p == filepath.Dir(p) {
			return ""
		}
	}
}
