package logpath

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Decode turns the path of an action into the name of an object below the
// table's folder. The log holds an RFC 2396 reference; it is decoded once. The
// error is [ErrUnsafePath].
//
// A scheme, an absolute path and a ".." segment are refused in both forms, the
// encoded and the decoded one.
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

// Absolute splits an absolute path or URI of the log into scheme, host and decoded path.
// It returns false for everything else, which [Decode] judges. It does not know where
// the path leads.
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

// plain recognises the paths that nearly every file has, which stand for
// themselves: segments of unreserved characters, none of which begins with a
// dot.
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

// confined checks one form of a path.
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
	case climbs(path):
		return unsafe(path, "parent or empty segment")
	}
	return nil
}

// climbs reports a segment that is "..", "." or empty. The last two are
// harmless alone, but two names for one file defeat reconciliation. A
// backslash separates where some readers run.
func climbs(path string) bool {
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

// hasScheme looks for `scheme:` before the first slash (RFC 2396, section
// 3.1). A name such as "a:b" is refused with it: readers disagree on it.
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

// Encode is the inverse of [Decode]: it turns the name of a data file into the
// reference that the log holds.
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

// literal holds the unreserved characters of RFC 3986 plus the slash and the
// equals sign of `column=value` folders.
func literal(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '-' || c == '.' || c == '_' || c == '~' || c == '/' || c == '='
}

// Sidecar is the object name of a sidecar. Only a plain file name in the
// folder of sidecars is accepted; the error is [ErrUnsafePath].
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

// Outside is the error for an absolute path that does not lead into the table's folder.
func Outside(path string) error { return fmt.Errorf("%.200q: %w", path, ErrElsewhere) }

func unsafe(path, why string) error {
	return fmt.Errorf("%s: %.200q: %w", why, path, ErrUnsafePath)
}
