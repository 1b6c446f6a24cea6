package csvinfer

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// timeForm is a form in which a column's dates or timestamps may be written.
type timeForm struct {
	// format is nil for ISO 8601, which needs no option.
	format *csvbody.TimeFormat
	offset bool
}

func (f timeForm) text() string {
	if f.format == nil {
		return ""
	}
	return f.format.String()
}

func (f timeForm) isDate(text []byte) bool {
	if f.format == nil {
		_, ok := sqltype.ParseDays(string(text))
		return ok
	}
	_, ok := f.format.Date(text)
	return ok
}

func (f timeForm) isTimestamp(text []byte) bool {
	if f.format == nil {
		mode := sqltype.WithoutOffset
		if f.offset {
			mode = sqltype.WithOffset
		}
		_, ok := sqltype.ParseMicros(string(text), mode)
		return ok
	}
	_, ok := f.format.Timestamp(text)
	return ok
}

// The forms that are tried in addition to ISO 8601 and the proposed one.
var (
	dateForms = parsed("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y-%m-%d")
	timeForms = parsed("%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S.%f%z", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
		"%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M",
		"%d-%m-%Y %H:%M:%S", "%m-%d-%Y %H:%M:%S", "%d-%m-%Y %H:%M", "%m-%d-%Y %H:%M", "%m/%d/%Y %I:%M:%S %p",
		"%d/%m/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p", "%d/%m/%Y %I:%M %p", "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M")
)

func parsed(texts ...string) []timeForm {
	forms := make([]timeForm, len(texts))
	for i, text := range texts {
		f, err := csvbody.ParseTimeFormat(text)
		if err != nil {
			panic(err) // a constant of this package
		}
		forms[i] = timeForm{f, f.HasOffset()}
	}
	return forms
}

// formsFor returns the forms to try, in order of preference: a given one alone, else ISO 8601,
// the proposed one and the others.
func formsFor(given *csvbody.TimeFormat, proposed string, iso, others []timeForm) []timeForm {
	if given != nil {
		return []timeForm{{given, given.HasOffset()}}
	}
	forms, swapped := append([]timeForm{}, iso...), swapDayMonth.Replace(proposed)
	for _, text := range []string{proposed, swapped} {
		if f, err := csvbody.ParseTimeFormat(text); err == nil {
			forms = append(forms, timeForm{f, f.HasOffset()})
		}
	}
	for _, f := range others {
		if f.text() != proposed && f.text() != swapped {
			forms = append(forms, f)
		}
	}
	return forms
}

// swapDayMonth exchanges the day and the month of a format.
var swapDayMonth = strings.NewReplacer("%d", "%m", "%m", "%d")

// forms is a set of indexes of forms.
type forms uint32

func (s forms) has(i int) bool { return s&(1<<i) != 0 }

// allForms returns the set of n forms.
func allForms(n int) forms { return 1<<n - 1 }

// keep removes the forms that do not fit a text.
func (s forms) keep(list []timeForm, text []byte, is func(timeForm, []byte) bool) forms {
	for i := range list {
		if s.has(i) && !is(list[i], text) {
			s &^= 1 << i
		}
	}
	return s
}

// choose returns the index of the form that fits most columns, the first of several. ISO 8601
// with and without offset needs no option, so its columns count together. The second result is
// the index of a form with day and month exchanged that fits as many columns, or -1.
func choose(list []timeForm, columns []forms) (chosen, swapped int) {
	counts := map[string]int{}
	for _, s := range columns {
		counted := map[string]bool{}
		for i, f := range list {
			if s.has(i) && !counted[f.text()] {
				counted[f.text()] = true
				counts[f.text()]++
			}
		}
	}
	chosen, swapped = 0, -1
	for i, f := range list {
		if counts[f.text()] > counts[list[chosen].text()] {
			chosen = i
		}
	}
	other := swapDayMonth.Replace(list[chosen].text())
	for i, f := range list {
		if counts[f.text()] > 0 && counts[f.text()] == counts[list[chosen].text()] && i != chosen && f.text() == other && other != "" {
			swapped = i
		}
	}
	return chosen, swapped
}
