package access

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/constraint"
)

// conceals reports whether a condition is about a column that is hidden or masked: its
// constants would reveal values. err is the error of parsing the condition.
func (v view) conceals(check constraint.Check, err error, text string) bool {
	unseen := slices.AppendSeq(slices.Clone(v.HiddenColumns), maps.Keys(v.Masks))
	return slices.ContainsFunc(unseen, func(name string) bool { return ConditionNames(check, err, text, name) })
}

// ConditionNames reports whether a condition is about a column. err is the error of
// parsing it: a condition without a parse is about all columns that its text mentions.
func ConditionNames(check constraint.Check, err error, text, column string) bool {
	if err != nil {
		return Mentions(text, column)
	}
	return slices.ContainsFunc(check.Columns(), func(name string) bool { return strings.EqualFold(name, column) })
}

// Mentions reports whether a text contains a name as a word, in any case and with any
// quoting or JSON escapes.
func Mentions(text, name string) bool {
	forms := []string{text, undoubled.Replace(text)}
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		forms = append(forms, fmt.Sprint(value))
	}
	return slices.ContainsFunc(forms, func(form string) bool { return holdsWord(form, name) })
}

var undoubled = strings.NewReplacer(`""`, `"`, "``", "`")

func holdsWord(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 || name == "" {
			return false
		}
		start := from + at
		if end := start + len(name); (start == 0 || !wordByte(text[start-1])) && (end == len(text) || !wordByte(text[end])) {
			return true
		}
		from = start + 1
	}
}

func wordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 0x80
}
