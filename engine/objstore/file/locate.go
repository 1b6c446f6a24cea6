package file

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

var _ objstore.Locator = (*Bucket)(nil)

// Locate implements objstore.Locator for absolute paths and file URIs. It refuses a path
// with ".." after a link if removing the ".." before following links leads elsewhere,
// because programs differ in that order.
func (b *Bucket) Locate(dir string, ref objstore.Reference) (string, bool) {
	if ref.Scheme != "" && ref.Scheme != "file" || ref.Host != "" && ref.Host != "localhost" || !strings.HasPrefix(ref.Path, "/") {
		return "", false
	}
	root, err := filepath.EvalSymlinks(filepath.Join(b.dir, filepath.FromSlash(dir)))
	if err != nil {
		return "", false
	}
	path, ok := resolve(ref.Path)
	if shortened := filepath.Clean(ref.Path); ok && shortened != ref.Path {
		again, found := resolve(shortened)
		ok = found && again == path
	}
	if !ok {
		return "", false
	}
	name, inside := strings.CutPrefix(path, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
	return filepath.ToSlash(name), inside
}

// resolve follows the links of an absolute path. Its last elements need not exist.
func resolve(path string) (string, bool) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, true
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	parent, last := filepath.Split(strings.TrimRight(path, "/"))
	if last == "" || last == "." || last == ".." || parent == "" {
		return "", false
	}
	real, ok := resolve(parent)
	return filepath.Join(real, last), ok
}
