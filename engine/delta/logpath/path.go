package logpath

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Decode converts the path of an action, which is an RFC 2396 reference, to the name of
// an object below the table's folder. It decodes percent-encoding once. The error is
// [ErrUnsafePath].
//
// It refuses a scheme, an absolute path and a ".." segment both before and after
// decoding.
func Decode(path string) (string, error) {
	if plain(path) {
		return path, nil
	}
	if err := confined(path); err != nil {
		return "", err
	}
	name, err := url.PathUnescape(path)
	if err != nil {
		return "", unsafe(path, "percent-encoding")
	}
	if err := confined(name); err != nil {
		return "", err
	}
	return name, nil
}

// Absolute splits an absolute path or URI of the log into scheme, host and decoded
// path. It returns false for a relative path. It does not check where the path leads.
func Absolute(path string) (scheme, host, decoded string, ok bool) {
	rest := path
	if hasScheme(path) {
		scheme, rest, _ = strings.Cut(path, ":")
		if after, found := strings.CutPrefix(rest, "//"); found {
			slash := strings.IndexByte(after, '/')
			if slash < 0 {
				return "", "", "", false
			}
			host, rest = after[:slash], after[slash:]
		}
	}
	if !strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "//") || strings.ContainsAny(rest, `?#\`) {
		return "", "", "", false
	}
	decoded, err := url.PathUnescape(rest)
	if err != nil || !utf8.ValidString(decoded) || strings.ContainsAny(decoded, "\x00\\") {
		return "", "", "", false
	}
	return strings.ToLower(scheme), host, decoded, true
}

// plain reports whether the path needs no decoding or checks, as nearly all paths do:
// all its segments consist of unreserved characters, and none starts with a dot.
func plain(path string) bool {
	start := true
	for i := range len(path) {
		c := path[i]
		switch {
		case start && (c == '/' || c == '.'):
			return false
		case !literal(c) || c == '~':
			return false
		}
		start = c == '/'
	}
	return !start
}

// confined returns an error if the encoded or decoded path can lead out of the folder.
func confined(path string) error {
	switch {
	case path == "":
		return unsafe(path, "empty")
	case !utf8.ValidString(path):
		return unsafe(path, "not UTF-8")
	case strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\`):
		return Outside(path)
	case strings.ContainsRune(path, 0):
		return unsafe(path, "NUL")
	case hasScheme(path):
		return Outside(path)
	case hasDotSegment(path):
		return unsafe(path, "parent or empty segment")
	}
	return nil
}

// hasDotSegment reports whether the path has a segment that is "..", "." or empty. The
// last two would give one file several names, which breaks action reconciliation. A
// backslash also separates segments, because it does for some readers.
func hasDotSegment(path string) bool {
	for s := range strings.SplitSeq(path, "/") {
		if s == "" || s == "." {
			return true
		}
		for s := range strings.SplitSeq(s, `\`) {
			if s == ".." {
				return true
			}
		}
	}
	return false
}

// hasScheme reports whether `scheme:` occurs before the first slash (RFC 2396, section
// 3.1). This includes file names such as "a:b", which readers interpret differently.
func hasScheme(path string) bool {
	for i := range len(path) {
		c := path[i]
		switch {
		case c == ':':
			return i > 0
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}

// Encode is the inverse of [Decode]: it converts the name of a data file to a path of
// the log.
func Encode(name string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(name))
	for i := range len(name) {
		c := name[i]
		if literal(c) {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// literal reports whether a byte needs no encoding: the unreserved characters of RFC
// 3986, the slash, and the equals sign of `column=value` folders.
func literal(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~' || c == '/' || c == '='
}

// Sidecar returns the object name of a sidecar. It accepts only a file name in the
// folder of sidecars; the error is [ErrUnsafePath].
func Sidecar(path string) (string, error) {
	name, err := Decode(path)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(name, `/\`) {
		return "", unsafe(path, "folder in sidecar")
	}
	return SidecarDir + name, nil
}

// Outside returns the error for an absolute path outside the table's folder.
func Outside(path string) error { return fmt.Errorf("%.200q: %w", path, ErrElsewhere) }

func unsafe(path, why string) error {
	return fmt.Errorf("%s: %.200q: %w", why, path, ErrUnsafePath)
}
