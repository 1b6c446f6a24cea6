package relation

import (
	"fmt"
	"math"
	"strings"
)

// Minutes is the number of minutes of a day, the modulus of relations between clock times.
const Minutes = 1440

const (
	maxNumeric = 24
	maxClocks  = 8
	// quick is the number of rows that a candidate is tried on first.
	quick = 40
	// minSupport is the number of rows of a sample that a relation needs at least.
	minSupport = 40
)

// Term is a part of a [Linear] relation.
type Term struct {
	// Column is the index of a column of the sample, Factor what it is multiplied by.
	Column int
	Factor float64
	// Clock reports that the value is a time of day as a number such as 2359, which counts as
	// minutes.
	Clock bool
	// Times is the index of a second column that the value is multiplied by, or -1.
	Times int
}

// Linear is an equation: Target = the sum of Terms.
type Linear struct {
	Target Term
	Terms  []Term
	// Modulus is 0, or [Minutes] where both sides are equal but for whole days.
	Modulus float64
	// Tolerance is the difference up to which the sides count as equal.
	Tolerance float64
	// Rows counts the rows of the sample in which no value is missing, Held those of them in
	// which the equation holds.
	Held, Rows int
}

// Columns returns the indexes of the columns of the equation, the target first.
func (l Linear) Columns() []int {
	out := []int{l.Target.Column}
	for _, t := range l.Terms {
		out = append(out, t.Column)
		if t.Times >= 0 {
			out = append(out, t.Times)
		}
	}
	return out
}

// clock returns the minutes since midnight of a time such as 2359.
func clock(v float64) float64 {
	hours := math.Trunc(v / 100)
	return hours*60 + (v - hours*100)
}

// value returns a term's value in a row, whose numbers are given by column.
func (t Term) value(row func(int) float64) float64 {
	v := row(t.Column)
	if t.Clock {
		v = clock(v)
	}
	if t.Times >= 0 {
		v *= row(t.Times)
	}
	return v * t.Factor
}

// Residual returns how far the sides of the equation are apart in a row, whose numbers are
// given by column. It is NaN if a value is missing.
func (l Linear) Residual(row func(int) float64) float64 {
	d := l.Target.value(row)
	for _, t := range l.Terms {
		d -= t.value(row)
	}
	if l.Modulus > 0 {
		d -= l.Modulus * math.Round(d/l.Modulus)
	}
	return d
}

// Repaired returns the value of a column that makes the equation true in a row, if there is
// exactly one that fits.
func (l Linear) Repaired(column int, row func(int) float64) (float64, bool) {
	d := l.Residual(row)
	if math.IsNaN(d) {
		return 0, false
	}
	for i, t := range append([]Term{l.Target}, l.Terms...) {
		factor := t.Factor
		if i > 0 {
			factor = -factor
		}
		switch {
		case t.Column == column && t.Times < 0:
		case t.Column == column && t.Times >= 0:
			factor *= row(t.Times)
		case t.Times == column:
			factor *= row(t.Column)
		default:
			continue
		}
		if factor == 0 {
			return 0, false
		}
		v := row(column)
		if !t.Clock {
			return v - d/factor, true
		}
		m := math.Mod(clock(v)-d/factor, Minutes)
		if m < 0 {
			m += Minutes
		}
		return math.Floor(m/60)*100 + math.Mod(m, 60), true
	}
	return 0, false
}

func (s *Sample) termSQL(t Term) string {
	q := "CAST(" + s.Columns[t.Column].Quoted() + " AS DOUBLE)"
	if t.Clock {
		q = fmt.Sprintf("(trunc(%s / 100) * 60 + (%s - trunc(%s / 100) * 100))", q, q, q)
	}
	if t.Times >= 0 {
		q += " * CAST(" + s.Columns[t.Times].Quoted() + " AS DOUBLE)"
	}
	if t.Factor != 1 {
		q = fmt.Sprintf("%g * %s", t.Factor, q)
	}
	return q
}

// Residual returns the SQL of [Linear.Residual].
func (s *Sample) Residual(l Linear) string {
	parts := make([]string, len(l.Terms))
	for i, t := range l.Terms {
		parts[i] = s.termSQL(t)
	}
	d := "(" + s.termSQL(l.Target) + " - (" + strings.Join(parts, " + ") + "))"
	if l.Modulus > 0 {
		d = fmt.Sprintf("(%s - %g * round(%s / %g))", d, l.Modulus, d, l.Modulus)
	}
	return d
}

// Violated returns the SQL of the condition that no value is missing and the equation does
// not hold.
func (s *Sample) Violated(l Linear) string {
	d := s.Residual(l)
	return fmt.Sprintf("(isfinite(%s) AND abs(%s) > %g)", d, d, l.Tolerance)
}

// Formula returns the equation as text with quoted names, as in "a" = "b" + "c".
func (s *Sample) Formula(l Linear) string {
	write := func(t Term) string {
		q := s.Columns[t.Column].Quoted()
		if t.Times >= 0 {
			q += " * " + s.Columns[t.Times].Quoted()
		}
		if math.Abs(t.Factor) != 1 {
			q = fmt.Sprintf("%g * %s", math.Abs(t.Factor), q)
		}
		return q
	}
	out := write(l.Target) + " = "
	for i, t := range l.Terms {
		switch {
		case t.Factor < 0 && i > 0:
			out += " - "
		case i > 0:
			out += " + "
		}
		out += write(t)
	}
	return out
}
