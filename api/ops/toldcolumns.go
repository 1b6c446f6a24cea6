package ops

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// properties are the table's without those that name a hidden column, such as a key
// or a list of columns with statistics, and without constraints over a column that
// is not seen as it is.
func (v view) properties(snap *delta.Snapshot) map[string]string {
	out := maps.Clone(snap.Properties())
	delete(out, propertyDropped) // names columns that can be hidden in former versions
	maps.DeleteFunc(out, func(key, value string) bool {
		switch {
		case slices.ContainsFunc(v.HiddenColumns, func(name string) bool { return mentions(key, name) }):
			return true
		case strings.HasPrefix(strings.ToLower(key), "delta.constraints."):
			check, err := constraint.ParseSpark(snap.Schema(), value)
			return v.keepsBack(check, err, value)
		case key == constraint.PropertyPrimaryKey:
			return slices.ContainsFunc(keyColumns(snap, value), v.hides)
		}
		return slices.ContainsFunc(v.HiddenColumns, func(name string) bool { return mentions(value, name) })
	})
	return out
}

// keyColumns are the columns of a primary key by the names that its property has and
// by those that they have now.
func keyColumns(snap *delta.Snapshot, value string) []string {
	var named []string
	_ = json.Unmarshal([]byte(value), &named) // what is no list names nothing
	return append(named, constraint.KeysOf(snap.Schema(), snap.Properties()).Primary...)
}

// keepsBack reports whether a condition is about a column that the subject does not
// see as it is: its constants would be a dictionary for masked values. err is that
// of reading it.
func (v view) keepsBack(check constraint.Check, err error, text string) bool {
	unseen := slices.AppendSeq(slices.Clone(v.HiddenColumns), maps.Keys(v.Masks))
	return slices.ContainsFunc(unseen, func(name string) bool { return speaksOf(check, err, text, name) })
}

// speaksOf reports whether a condition is about a column. One that could not be read
// is about all that its text mentions.
func speaksOf(check constraint.Check, err error, text, column string) bool {
	if err != nil {
		return mentions(text, column)
	}
	return slices.ContainsFunc(check.Columns(), func(name string) bool { return strings.EqualFold(name, column) })
}

// mentions reports whether a text holds a name as a word, in any case and however
// its quotes or JSON write it.
func mentions(text, name string) bool {
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
