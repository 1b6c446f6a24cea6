package datafile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// LayoutTag is the tag of files that records how an optimize laid them out, so that
// the same work is not done again: the target size and the quoted columns of the
// Z-order curve, by their names in files.
const LayoutTag = "lakewarden.optimize"

// curveTag is the tag of files whose rows were read in the order of such curves:
// the quoted columns.
const curveTag = "lakewarden.curve"

// LaidOutBy returns the sorted columns, by their names in files, along whose curves
// files of the version were laid out, or the files that their rows come from. The
// order of these files reveals values of the columns. Files that other writers
// rewrote have no tag.
func LaidOutBy(snap *delta.Snapshot) (columns []string) {
	seen := map[string]bool{}
	note := func(mark *string, rest func(string) string) {
		if mark != nil && !seen[*mark] {
			seen[*mark] = true
			columns = append(columns, quotedNames(rest(*mark))...)
		}
	}
	for f := range snap.Files() {
		note(f.Add.Tags[LayoutTag], func(mark string) string {
			_, rest, _ := strings.Cut(mark, " ")
			return rest
		})
		note(f.Add.Tags[curveTag], func(mark string) string { return mark })
	}
	slices.Sort(columns)
	return slices.Compact(columns)
}

func quotedNames(text string) (names []string) {
	for text != "" {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			break // of another writer
		}
		name, _ := strconv.Unquote(quoted) // a quoted prefix is valid
		names, text = append(names, name), strings.TrimPrefix(text[len(quoted):], " ")
	}
	return names
}

// CurveTags returns the tags of files into which rows of the table are rewritten in
// their existing order.
func CurveTags(snap *delta.Snapshot) map[string]*string {
	tags := map[string]*string{}
	var quoted []string
	for _, name := range LaidOutBy(snap) {
		quoted = append(quoted, strconv.Quote(name))
	}
	if len(quoted) > 0 {
		mark := strings.Join(quoted, " ")
		tags[curveTag] = &mark
	}
	return tags
}
