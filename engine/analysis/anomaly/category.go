package anomaly

import (
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/profile"
)

// categories adds the checks of rare texts in columns of frequent ones: texts that are nearly
// equal to a frequent one, and texts below a gap between the frequencies.
func (d *detector) categories(i int) {
	values := d.counts[i]
	if len(values) < 2 || d.total < 200 || int64(len(values))*20 > d.total {
		return
	}
	var typos, likely []string
	var frequent []profile.Value
	for _, v := range values {
		if v.Rows*1000 >= d.total && len(frequent) < 500 {
			frequent = append(frequent, v)
		}
	}
	for _, v := range values[len(frequent):] {
		if len(typos) == 1000 {
			break
		}
		for _, f := range frequent {
			if f.Rows >= 200*v.Rows && alike(v.Value, f.Value) {
				typos, likely = append(typos, analysis.QuoteSQL(v.Value)), append(likely, f.Value)
				break
			}
		}
	}
	c := d.column(i)
	if len(typos) > 0 {
		d.add(check{kind: kindCategory, column: i, score: 0.88, where: c.Quoted() + " IN (" + strings.Join(typos, ", ") + ")",
			expected: "a value such as " + likely[0], reason: fmt.Sprintf("the value is rare in %s and nearly equal to a frequent one", c.Name)})
	}
	core, rest := 0, int64(0)
	for at := range values[:min(len(values), 50)] {
		if at+1 < len(values) && values[at].Rows >= 200*values[at+1].Rows {
			core = at + 1
			break
		}
	}
	if core < 2 {
		return
	}
	list := make([]string, core)
	for at, v := range values {
		if at < core {
			list[at] = analysis.QuoteSQL(v.Value)
		} else {
			rest += v.Rows
		}
	}
	if rest*300 <= d.total {
		d.add(check{kind: kindCategory, column: i, score: 0.85, where: c.Quoted() + " NOT IN (" + strings.Join(list, ", ") + ")",
			expected: "one of " + analysis.Count(int64(core), "frequent value"),
			reason:   fmt.Sprintf("%s has only %s in nearly all rows", c.Name, analysis.Count(int64(core), "value"))})
	}
}

// alike reports whether two texts differ in case and spaces only, or, if they have at least
// four characters, by one typing error.
func alike(a, b string) bool {
	x, y := strings.ToLower(strings.Join(strings.Fields(a), "")), strings.ToLower(strings.Join(strings.Fields(b), ""))
	return x == y || typingError([]rune(x), []rune(y))
}

// typingError reports whether one character is added, left out, replaced or swapped with its
// neighbour. Texts with digits are not compared, because other numbers are other values.
func typingError(a, b []rune) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(b) < 4 || len(a) > len(b)+1 {
		return false
	}
	for _, r := range a {
		if r >= '0' && r <= '9' {
			return false
		}
	}
	at := 0
	for at < len(b) && a[at] == b[at] {
		at++
	}
	rest := func(x []rune, n int) string { return string(x[min(n, len(x)):]) }
	if len(a) > len(b) {
		return rest(a, at+1) == rest(b, at)
	}
	return rest(a, at+1) == rest(b, at+1) || at+1 < len(b) && a[at] == b[at+1] && a[at+1] == b[at] && rest(a, at+2) == rest(b, at+2)
}

// swaps adds the checks of rows in which two columns have values that otherwise occur in the
// other column only.
func (d *detector) swaps() {
	for i := range d.counts {
		for j := i + 1; j < len(d.counts); j++ {
			a, b := d.column(i), d.column(j)
			if a.Kind() != analysis.KindText || b.Kind() != analysis.KindText || a.Masked || b.Masked || d.counts[i] == nil || d.counts[j] == nil {
				continue
			}
			onlyA, onlyB := only(d.counts[i], d.counts[j]), only(d.counts[j], d.counts[i])
			if len(onlyA) == 0 || len(onlyB) == 0 {
				continue
			}
			where := fmt.Sprintf("(%s IN (%s) AND %s IN (%s))", a.Quoted(), strings.Join(onlyB, ", "), b.Quoted(), strings.Join(onlyA, ", "))
			for _, pair := range [][2]int{{i, j}, {j, i}} {
				other := d.column(pair[1]).Name
				d.add(check{kind: kindSwap, column: pair[0], score: 0.95, where: where, expected: "the value of " + other,
					reason: fmt.Sprintf("the value usually occurs in %s, and the value of %s usually occurs here", other, other)})
			}
		}
	}
}

// only returns the values, quoted, that are at least a hundred times as frequent in a as in b.
func only(a, b []profile.Value) []string {
	other := make(map[string]int64, len(b))
	for _, v := range b {
		other[v.Value] = v.Rows
	}
	var out []string
	for _, v := range a {
		if v.Rows >= 100*max(1, other[v.Value]) {
			out = append(out, analysis.QuoteSQL(v.Value))
		}
	}
	return out
}
