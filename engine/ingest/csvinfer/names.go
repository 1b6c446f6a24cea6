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
	// last holds the last number that was given to a name, so that equal names take linear
	// time.
	names, taken, last := make([]string, len(header)), map[string]bool{}, map[string]int{}
	for i, text := range header {
		base := usableName(text)
		if base == "" {
			base = "column" + strconv.Itoa(i+1)
		}
		name, folded := base, strings.ToLower(base)
		for n := max(last[folded], 1) + 1; taken[strings.ToLower(name)]; n++ {
			name, last[folded] = base+"_"+strconv.Itoa(n), n
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
