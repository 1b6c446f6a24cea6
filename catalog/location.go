package catalog

import (
	"strings"
)

// Location is the canonical form of a configuration's root: a scheme, "://", and path
// segments, each followed by '/'. Code that builds one must first resolve symbolic
// links, relative parts and bucket aliases, because overlap is decided by comparing
// text:
//
//	file:///var/lib/lakewarden/storage/sales/
//	s3://endpoint/bucket/prefix/
type Location string

// NewLocation joins a scheme and slash-separated parts into a location.
func NewLocation(scheme string, parts ...string) Location {
	var b strings.Builder
	b.WriteString(scheme)
	b.WriteString("://")
	if scheme == "file" {
		b.WriteByte('/')
	}
	for _, part := range parts {
		for segment := range strings.SplitSeq(part, "/") {
			if segment != "" {
				b.WriteString(segment)
				b.WriteByte('/')
			}
		}
	}
	return Location(b.String())
}

// Overlaps reports whether one location equals or contains the other.
func (l Location) Overlaps(other Location) bool {
	return strings.HasPrefix(string(l), string(other)) || strings.HasPrefix(string(other), string(l))
}

func (l Location) check(e *FieldErrors, kind ConfigKind) {
	text := string(l)
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case !ok || scheme == "" || len(text) > 4096 || !storableText(text) || !strings.HasSuffix(text, "/"):
		e.add("location", "must be a scheme and a path that ends in '/'")
		return
	case (kind == KindLocal) != (scheme == "file"):
		e.add("location", "must have the scheme of its kind")
		return
	}
	segments := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	for i, segment := range segments {
		// file:///x/ begins with one empty segment.
		if segment == ".." || segment == "." || segment == "" && !(i == 0 && kind == KindLocal) {
			e.add("location", "must not have empty, '.' or '..' parts")
			return
		}
	}
}
