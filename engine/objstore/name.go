package objstore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxName is the maximum length of a name in bytes; it is the smallest limit of all stores.
const MaxName = 1024

// ValidName reports whether every store can hold an object of this name: valid UTF-8 of at most
// MaxName bytes, segments separated by single slashes, no empty, "." or ".." segment and no control
// character. Every provider and wrapper calls it first, so that a name means the same place in
// every store. It returns ErrInvalidName.
func ValidName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: empty", ErrInvalidName)
	}
	if strings.HasSuffix(name, "/") {
		return fmt.Errorf("%w: %q ends in a slash", ErrInvalidName, clip(name))
	}
	if err := validText(name); err != nil {
		return err
	}
	for segment := range strings.SplitSeq(name, "/") {
		if err := validSegment(name, segment); err != nil {
			return err
		}
	}
	return nil
}

// ValidPrefix is like ValidName for the prefix of a listing, which may also be empty, end in a
// slash, or stop in the middle of a segment. It returns ErrInvalidName.
func ValidPrefix(prefix string) error {
	if err := validText(prefix); err != nil {
		return err
	}
	whole := strings.LastIndexByte(prefix, '/')
	if whole < 0 {
		return nil
	}
	for segment := range strings.SplitSeq(prefix[:whole], "/") {
		if err := validSegment(prefix, segment); err != nil {
			return err
		}
	}
	return nil
}

func validText(name string) error {
	if len(name) > MaxName {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrInvalidName, len(name), MaxName)
	}
	if !utf8.ValidString(name) {
		return fmt.Errorf("%w: %q is not UTF-8", ErrInvalidName, clip(name))
	}
	for _, c := range []byte(name) {
		if c < 0x20 || c == 0x7f {
			return fmt.Errorf("%w: %q has a control character", ErrInvalidName, clip(name))
		}
	}
	return nil
}

func validSegment(name, segment string) error {
	switch segment {
	case "":
		return fmt.Errorf("%w: %q has an empty segment", ErrInvalidName, clip(name))
	case ".", "..":
		return fmt.Errorf("%w: %q has the segment %q", ErrInvalidName, clip(name), segment)
	}
	return nil
}

// clip shortens a name, so that a hostile one does not fill the log.
func clip(name string) string {
	const most = 100
	if len(name) <= most {
		return name
	}
	return name[:most] + "…"
}
