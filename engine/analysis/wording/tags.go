package wording

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// maxTag bounds the length in bytes of what is taken for a tag.
const maxTag = 400

// keepTags removes the tags that cite none of the references from a text, and returns the
// number of removed tags. Two opening brackets remain only where a tag of a reference begins.
func keepTags(text string, references []analysis.Reference) (string, int) {
	if !strings.Contains(text, "[[") {
		return text, 0
	}
	// The tags by their row, so that few are compared.
	known := map[string][]string{}
	for _, r := range references {
		tag := r.Tag()
		known[tag[:strings.IndexByte(tag, ':')]] = append(known[tag[:strings.IndexByte(tag, ':')]], tag)
	}
	var out []byte
	// bracket reports that out ends in a bracket that is not part of a tag.
	bracket, dropped := false, 0
	for text != "" {
		if strings.HasPrefix(text, "[[") {
			if tag := longest(text, known); tag != "" {
				if bracket {
					out = out[:len(out)-1]
				}
				out, text, bracket = append(out, tag...), text[len(tag):], false
				continue
			}
			if n := tagLength(text); n > 0 {
				text = text[n:]
				dropped++
				if len(out) > 0 && out[len(out)-1] == ' ' {
					out = out[:len(out)-1]
				}
				bracket = len(out) > 0 && out[len(out)-1] == '['
				continue
			}
		}
		if text[0] != '[' || !bracket {
			out = append(out, text[0])
		}
		bracket = text[0] == '['
		text = text[1:]
	}
	return string(out), dropped
}

// longest returns the longest known tag at the start of a text, or "".
func longest(text string, known map[string][]string) string {
	colon := strings.IndexByte(text[:min(len(text), maxTag)], ':')
	if colon < 0 {
		return ""
	}
	found := ""
	for _, tag := range known[text[:colon]] {
		if len(tag) > len(found) && strings.HasPrefix(text, tag) {
			found = tag
		}
	}
	return found
}

// tagLength returns the length of what looks like a tag at the start of a text, or 0.
func tagLength(text string) int {
	end := strings.Index(text[:min(len(text), maxTag)], "]]")
	if end < 0 || strings.Contains(text[:end], "\n") {
		return 0
	}
	return end + len("]]")
}
