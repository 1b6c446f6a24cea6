package csvinfer

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// maxName bounds the names of columns in bytes, with room for a number.
const maxName = 240

// tableNames returns names for a table that can be made without column mapping: each unique
// regardless of case.
func tableNames(header []string) []string {
	names, taken := make([]string, len(header)), map[string]bool{}
	for i, text := range header {
		base := usableName(text)
		if base == "" {
			base = "column" + strconv.Itoa(i+1)
		}
		name := base
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = base + "_" + strconv.Itoa(n)
		}
		taken[strings.ToLower(name)] = true
		names[i] = name
	}
	return names
}

// usableName replaces the characters that names of columns must not have.
func usableName(text string) string {
	var b strings.Builder
	pending := false
	for _, r := range strings.ToValidUTF8(text, "_") {
		if strings.ContainsRune(" ,;{}()\n\t=", r) || unicode.IsControl(r) || unicode.IsSpace(r) ||
			unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			pending = b.Len() > 0
			continue
		}
		if pending {
			b.WriteByte('_')
			pending = false
		}
		if b.Len()+len(string(r)) > maxName {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// found reports whether the header itself leads to the columns of a table with these names.
func found(header, names []string) bool {
	index := staging.NewNames(len(names), func(i int) string { return names[i] })
	for i, text := range header {
		if index.Find([]byte(text)) != i {
			return false
		}
	}
	return true
}
