package wording

import (
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// maxText bounds a text in bytes.
const maxText = 8 << 10

// read returns the text of a reply and the number of tags that were removed from it, or the
// reason why the reply is refused. The reason quotes nothing of the reply.
func read(document []byte, references []analysis.Reference) (text string, dropped int, reason string) {
	var reply struct {
		Text *string `json:"text"`
	}
	// This decoder refuses duplicate members and invalid UTF-8 as well.
	if err := json.Unmarshal(document, &reply, json.RejectUnknownMembers(true)); err != nil || reply.Text == nil {
		return "", 0, "it must be a JSON object with the string \"text\" as its only member"
	}
	if len(*reply.Text) > maxText {
		return "", 0, "the text is longer than 8192 bytes"
	}
	text, dropped = keepTags(clean(*reply.Text), references)
	if text = strings.TrimSpace(text); text == "" {
		return "", 0, "the text is empty"
	}
	return text, dropped, ""
}

// clean removes control characters except newlines, and the invisible characters that reorder
// or hide text. It keeps joiners, which some scripts need.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\u200c', r == '\u200d':
			return r
		case r == '\t':
			return ' '
		case r == '\u2028', r == '\u2029':
			return '\n'
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, text)
}
