package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// orgPlaceholder is replaced by the organisation's id in a local root.
const orgPlaceholder = "{org}"

// LocalRoots are the directories below which local storage is allowed, as the operator configured
// them. Local storage is off if there are none.
type LocalRoots struct {
	Allowed []string
}

// RootsOf returns the configured roots for an organisation: the roots that contain {org}, replaced
// by its id, and, for the first organisation, also the others. Two organisations therefore never
// share a directory by accident.
func RootsOf(configured []string, orgID string, first bool) []string {
	var roots []string
	for _, root := range configured {
		if strings.Contains(root, orgPlaceholder) {
			roots = append(roots, strings.ReplaceAll(root, orgPlaceholder, orgID))
		} else if first {
			roots = append(roots, root)
		}
	}
	return roots
}

// Resolve returns the real, absolute path of a local root: {org} replaced by the organisation's id,
// symbolic links resolved as far as the path exists. It must equal or be below an allowed root,
// itself resolved. The directory need not exist and is not created. ErrRootInvalid,
// ErrRootNotAllowed.
//
// The result can become outdated: a caller resolves the root again when it opens it, since a link
// may have been created.
func (l LocalRoots) Resolve(root, orgID string) (string, error) {
	expanded, err := expand(root, orgID)
	if err != nil {
		return "", err
	}
	abs, err := realPath(expanded)
	if err != nil {
		// The cause is omitted, because it would reveal which files exist elsewhere.
		return "", ErrRootNotAllowed
	}
	for _, allowed := range l.Allowed {
		below, err := filepath.Abs(allowed)
		if allowed == "" || err != nil {
			continue
		}
		if below, err = realPath(below); err == nil && contains(below, abs) {
			return abs, nil
		}
	}
	return "", ErrRootNotAllowed
}

// expand checks the text of a root and replaces the organisation's placeholder.
func expand(root, orgID string) (string, error) {
	if strings.Contains(root, orgPlaceholder) {
		if orgID == "" || strings.Trim(orgID, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
			return "", fmt.Errorf("%w: organisation id", ErrRootInvalid)
		}
		root = strings.ReplaceAll(root, orgPlaceholder, orgID)
	}
	switch {
	case !filepath.IsAbs(root):
		return "", fmt.Errorf("%w: not absolute", ErrRootInvalid)
	case strings.ContainsAny(root, "{}"):
		return "", fmt.Errorf("%w: unknown placeholder", ErrRootInvalid)
	case strings.ContainsFunc(root, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\uFFFD' }):
		return "", fmt.Errorf("%w: control character", ErrRootInvalid)
	}
	for segment := range strings.SplitSeq(root, "/") {
		// Cleaning "link/.." would lead elsewhere than the system does.
		if segment == ".." {
			return "", fmt.Errorf("%w: segment %q", ErrRootInvalid, segment)
		}
	}
	return filepath.Clean(root), nil
}

// realPath resolves the links of the deepest part of path that exists and appends the rest. A
// dangling link counts as existing, and is an error: whoever created its target later would decide
// where the root is.
func realPath(path string) (string, error) {
	rest := ""
	for {
		_, err := os.Lstat(path)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = filepath.Dir(path)
	}
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%w: not a directory", ErrRootInvalid)
	}
	return filepath.Join(path, rest), nil
}

// Overlaps reports whether two locations are equal, or one contains the other, segment by segment
// ("/a" and "/ab" do not overlap). Locations are resolved local paths, or a store's address
// followed by bucket and prefix ("s3://bucket/prefix"); both must be spelled alike.
func Overlaps(a, b string) bool { return contains(a, b) || contains(b, a) }

// contains reports whether inner equals outer or is below it.
func contains(outer, inner string) bool {
	outer, inner = strings.TrimRight(outer, "/")+"/", strings.TrimRight(inner, "/")+"/"
	return strings.HasPrefix(inner, outer)
}
