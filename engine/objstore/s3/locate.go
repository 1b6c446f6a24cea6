package s3

import (
	"path"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

var _ objstore.Locator = (*Bucket)(nil)

// Locate implements objstore.Locator for the schemes that programs use for S3. It takes
// the key unchanged, and refuses keys that a program could shorten as paths.
func (b *Bucket) Locate(dir string, ref objstore.Reference) (string, bool) {
	switch ref.Scheme {
	case "s3", "s3a", "s3n":
	default:
		return "", false
	}
	if ref.Host != b.name || path.Clean(ref.Path) != ref.Path {
		return "", false
	}
	return strings.CutPrefix(strings.TrimPrefix(ref.Path, "/"), dir)
}
