package jsonbody

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// cursor walks over one JSON value whose grammar was checked before, so it checks nothing.
type cursor struct {
	b []byte
	i int
}

// peek returns the first byte of the next value, or the byte that ends a list or object.
func (c *cursor) peek() byte {
	for {
		switch b := c.b[c.i]; b {
		case ' ', '\t', '\r', '\n', ',', ':':
			c.i++
		default:
			return b
		}
	}
}

// str returns a string with its quotes and reports whether it is free of escapes.
func (c *cursor) str() ([]byte, bool) {
	start, plain := c.i, true
	for i := start + 1; ; {
		end := i + bytes.IndexByte(c.b[i:], '"')
		slash := bytes.IndexByte(c.b[i:end], '\\')
		if slash < 0 {
			c.i = end + 1
			return c.b[start:c.i], plain
		}
		plain = false
		i += slash + 2 // what is escaped may be a quote
	}
}

// word returns a number or a literal.
func (c *cursor) word() []byte {
	start := c.i
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return c.b[start:c.i]
		}
		c.i++
	}
	return c.b[start:]
}

// skip passes over any value.
func (c *cursor) skip() {
	depth := 0
	for {
		switch c.peek() {
		case '{', '[':
			depth++
			c.i++
		case '}', ']':
			depth--
			c.i++
		case '"':
			c.str()
		default:
			c.word()
		}
		if depth == 0 {
			return
		}
	}
}

// deeper reports whether a value is nested deeper than limit.
func deeper(value []byte, limit int) bool {
	if bytes.Count(value, []byte{'{'})+bytes.Count(value, []byte{'['}) <= limit {
		return false // which is what almost every row is, and quick to know
	}
	c := cursor{b: value}
	for depth := 0; c.i < len(value); {
		switch value[c.i] {
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			c.str()
			continue
		}
		c.i++
	}
	return false
}

// unescape appends the content of a quoted string. It returns false for text that is not
// UTF-8, and for half a surrogate pair.
func unescape(dst, quoted []byte) ([]byte, bool) {
	dst, err := jsontext.AppendUnquote(dst, quoted)
	return dst, err == nil
}
