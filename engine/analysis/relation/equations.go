package relation

import (
	"math"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// factors are the factors of units that equations are tried with.
var factors = []float64{10, 24, 60, 100, 1000}

// Equations returns the linear relations that hold in at least share of the sample's rows
// and that do not hold by chance. clocks are the columns of [Sample.Clocks].
func (s *Sample) Equations(clocks []int, share float64) []Linear {
	isClock := map[int]bool{}
	for _, c := range clocks {
		isClock[c] = true
	}
	var plain []int
	for i, c := range s.Columns {
		if c.Numeric() && s.Distinct[i] >= 3 && len(plain) < maxNumeric {
			plain = append(plain, i)
		}
	}
	f := finder{s: s, share: share}
	if s.Rows < minSupport {
		return nil
	}
	if len(clocks) > maxClocks {
		clocks = clocks[:maxClocks]
	}
	for _, d := range plain {
		for _, a := range clocks {
			for _, b := range clocks {
				if a != b && !isClock[d] {
					f.try(Linear{Target: Term{Column: d, Factor: 1, Times: -1}, Modulus: Minutes, Terms: []Term{
						{Column: a, Factor: 1, Clock: true, Times: -1}, {Column: b, Factor: -1, Clock: true, Times: -1}}})
				}
			}
		}
	}
	for _, a := range plain {
		for _, b := range plain {
			if a == b {
				continue
			}
			if a < b {
				f.sum(a, Term{Column: b, Factor: 1, Times: -1})
			}
			for _, k := range factors {
				f.sum(a, Term{Column: b, Factor: k, Times: -1})
			}
			for _, c := range plain {
				f.three(a, b, c)
			}
		}
	}
	return f.found
}

// finder collects equations.
type finder struct {
	s     *Sample
	share float64
	found []Linear
	// taken holds the sets of columns that have an equation.
	taken []map[int]bool
}

// sum tries an equation without modulus.
func (f *finder) sum(target int, terms ...Term) bool {
	return f.try(Linear{Target: Term{Column: target, Factor: 1, Times: -1}, Terms: terms})
}

// three tries the equations of a target and two or three other columns.
func (f *finder) three(a, b, c int) {
	if a == c || b == c {
		return
	}
	one := func(column int, factor float64) Term { return Term{Column: column, Factor: factor, Times: -1} }
	for _, k := range factors {
		f.sum(a, one(b, k), one(c, 1))
	}
	if b > c {
		return
	}
	if f.sum(a, one(b, 1), one(c, 1)) || f.sum(a, Term{Column: b, Factor: 1, Times: c}) {
		return
	}
	for i := c + 1; i < len(f.s.Columns); i++ {
		if i != a && f.s.Numbers[i] != nil && f.s.Columns[i].Numeric() {
			f.sum(a, one(b, 1), one(c, 1), one(i, 1))
		}
	}
}

// try adds an equation if it holds, and reports whether it does.
func (f *finder) try(l Linear) bool {
	columns := l.Columns()
	for _, set := range f.taken {
		inside := 0
		for _, c := range columns {
			if set[c] {
				inside++
			}
		}
		if inside == len(set) {
			return false // its columns have an equation already
		}
	}
	exact := true
	for _, c := range columns {
		exact = exact && f.s.Columns[c].Kind() == analysis.KindInteger
	}
	if !exact {
		l.Tolerance = 0.011
	}
	if !f.s.holds(&l, f.share) {
		return false
	}
	set := map[int]bool{}
	for _, c := range columns {
		set[c] = true
	}
	f.found, f.taken = append(f.found, l), append(f.taken, set)
	return true
}

// holds counts the rows in which an equation holds, and reports whether these are enough
// and more than chance explains.
func (s *Sample) holds(l *Linear, share float64) bool {
	at := 0
	row := func(c int) float64 { return s.Numbers[c][at] }
	failed := 0
	for at = 0; at < s.Rows; at++ {
		d := l.Residual(row)
		if math.IsNaN(d) {
			continue
		}
		l.Rows++
		if math.Abs(d) <= l.Tolerance {
			l.Held++
		} else {
			failed++
			if l.Rows <= quick && failed > quick/10+1 || float64(failed) > (1-share)*float64(s.Rows) {
				return false
			}
		}
	}
	if l.Rows < minSupport || float64(l.Held) < share*float64(l.Rows) {
		return false
	}
	// Each term has to matter, and another row's target must not fit as well.
	matters := make([]int, len(l.Terms))
	chance, tried := 0, 0
	for at = 0; at < s.Rows; at++ {
		d := l.Residual(row)
		if math.IsNaN(d) {
			continue
		}
		for i, t := range l.Terms {
			if v := t.value(row); math.Abs(v) > l.Tolerance && (t.Times < 0 || math.Abs(row(t.Times)-1) > l.Tolerance &&
				math.Abs(row(t.Column)-1) > l.Tolerance) {
				matters[i]++
			}
		}
		other := s.Numbers[l.Target.Column][(at+1)%s.Rows]
		if math.IsNaN(other) {
			continue
		}
		tried++
		moved := l.Residual(func(c int) float64 {
			if c == l.Target.Column {
				return other
			}
			return row(c)
		})
		if math.Abs(moved) <= l.Tolerance {
			chance++
		}
	}
	for _, m := range matters {
		if float64(m) < 0.05*float64(l.Rows) {
			return false
		}
	}
	return tried > 0 && float64(chance) <= 0.3*float64(tried)
}

// Clocks returns the columns of whole numbers that hold times of day such as 2359.
func (s *Sample) Clocks() []int {
	var out []int
	for i, c := range s.Columns {
		if c.Kind() != analysis.KindInteger || s.Distinct[i] < 100 {
			continue
		}
		rows, fit := 0, 0
		hours, minutes := map[int]bool{}, map[int]bool{}
		for _, v := range s.Numbers[i] {
			if math.IsNaN(v) {
				continue
			}
			rows++
			if h, m := math.Floor(v/100), math.Mod(v, 100); v >= 0 && v <= 2400 && m < 60 {
				fit++
				hours[int(h)], minutes[int(m)] = true, true
			}
		}
		if rows >= 200 && float64(fit) >= 0.98*float64(rows) && len(hours) >= 10 && len(minutes) >= 10 {
			out = append(out, i)
		}
	}
	return out
}
