package datafile

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta"
)

// LayoutTag marks files with how an optimize laid them out, so that the same work is
// not done again: the size that was asked for and, in quotes, the columns of the
// Z-order curve by their names in files.
const LayoutTag = "lakewarden.optimize"

// curveTag marks files of rows that were read in the order of such curves: the
// columns in quotes.
const curveTag = "lakewarden.curve"

// LaidOutBy are the columns, by their names in files and sorted, along whose curves
// live files of the table were laid out, or files that their rows were read from:
// their order tells of these columns' values. What other writers rewrite has no
// mark.
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
			break // not ours
		}
		name, _ := strconv.Unquote(quoted) // a quoted prefix always can be
		names, text = append(names, name), strings.TrimPrefix(text[len(quoted):], " ")
	}
	return names
}

// CurveTags are the tags of files into which rows of the table are rewritten: they
// stay in the order that they have.
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
