package relation

import (
	"fmt"
	"math"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// Order says that the value of one column is at most that of another.
type Order struct {
	Low, High int
	// Rows counts the rows of the sample with both values, Held those in which the order
	// holds, Equal those in which the values are equal.
	Held, Equal, Rows int
}

// Orders returns the pairs of columns of one kind of which one is at most the other in at
// least share of the rows, and would not be after a shuffle of the values.
func (s *Sample) Orders(share float64) []Order {
	var out []Order
	if s.Rows < minSupport {
		return nil
	}
	for a, x := range s.Columns {
		for b, y := range s.Columns {
			if a == b || s.Numbers[a] == nil || s.Numbers[b] == nil || !comparable(x, y) || s.Distinct[a] < 5 || s.Distinct[b] < 5 {
				continue
			}
			if o, ok := s.order(a, b, share); ok {
				out = append(out, o)
			}
		}
	}
	return out
}

func comparable(x, y analysis.Column) bool {
	if x.Numeric() || y.Numeric() {
		return x.Numeric() && y.Numeric()
	}
	return x.Kind() == y.Kind()
}

func (s *Sample) order(a, b int, share float64) (Order, bool) {
	o := Order{Low: a, High: b}
	mixed, tried := 0, 0
	for row := range s.Rows {
		x, y := s.Numbers[a][row], s.Numbers[b][row]
		if math.IsNaN(x) || math.IsNaN(y) {
			continue
		}
		o.Rows++
		if x <= y {
			o.Held++
		}
		if x == y {
			o.Equal++
		}
		if o.Rows == quick && o.Held < quick*3/4 {
			return o, false
		}
		if other := s.Numbers[b][(row+1)%s.Rows]; !math.IsNaN(other) {
			tried++
			if x <= other {
				mixed++
			}
		}
	}
	if o.Rows < minSupport || float64(o.Held) < share*float64(o.Rows) || o.Equal == o.Rows {
		return o, false
	}
	return o, tried > 0 && float64(mixed) <= 0.9*float64(tried)
}

// Together returns the pairs of columns that are NULL in the same rows: of the rows in which
// one is NULL, both are in at least share.
func (s *Sample) Together(share float64) [][2]int {
	var out [][2]int
	for a := range s.Columns {
		for b := a + 1; b < len(s.Columns); b++ {
			both, one := 0, 0
			for row := range s.Rows {
				x, y := s.Codes[a][row] == 0, s.Codes[b][row] == 0
				switch {
				case x && y:
					both++
				case x || y:
					one++
				}
			}
			if both >= 30 && both+one <= s.Rows*9/10 && float64(both) >= share*float64(both+one) {
				out = append(out, [2]int{a, b})
			}
		}
	}
	return out
}

// Parts says that other columns hold the year, month and day of a timestamp or date, and
// possibly its hour.
type Parts struct {
	Stamp, Year, Month, Day int
	// Hour is -1 if the hour is not a column.
	Hour int
	// Offsets are the differences in hours between the stamp and its parts that occur.
	Offsets []float64
}

// Columns returns the indexes of the columns, the stamp first.
func (p Parts) Columns() []int {
	out := []int{p.Stamp, p.Year, p.Month, p.Day}
	if p.Hour >= 0 {
		out = append(out, p.Hour)
	}
	return out
}

// days returns the days since 1970 of a date of the Gregorian calendar. Months and days
// beyond their range count on.
func days(y, m, d float64) float64 {
	m--
	y += math.Floor(m / 12)
	m -= math.Floor(m/12) * 12
	y, m = math.Floor(y), m+1
	if m <= 2 {
		y--
		m += 12
	}
	return 365*y + math.Floor(y/4) - math.Floor(y/100) + math.Floor(y/400) + math.Floor((153*(m-3)+2)/5) + d - 1 - 719468
}

// Difference returns how many hours the stamp is after its parts, in a row whose numbers are
// given by column.
func (s *Sample) Difference(p Parts, row func(int) float64) float64 {
	stamp := row(p.Stamp)
	if s.Columns[p.Stamp].Kind() == analysis.KindDate {
		stamp *= 86400
	}
	hour := 0.0
	if p.Hour >= 0 {
		hour = row(p.Hour)
	} else {
		stamp = math.Floor(stamp/86400) * 86400
	}
	return stamp/3600 - days(row(p.Year), row(p.Month), row(p.Day))*24 - hour
}

// Disagrees returns the SQL of the condition that no value is missing and the values do not
// agree.
func (s *Sample) Disagrees(p Parts) string {
	list := make([]string, len(p.Offsets))
	for i, o := range p.Offsets {
		list[i] = fmt.Sprintf("%g", o)
	}
	return "floor(" + s.DifferenceSQL(p) + ") NOT IN (" + strings.Join(list, ", ") + ")"
}

// DifferenceSQL returns the SQL of [Sample.Difference].
func (s *Sample) DifferenceSQL(p Parts) string {
	number := func(i int) string { return "(" + Number(s.Columns[i]) + ")" }
	y, m, d := number(p.Year), "("+number(p.Month)+" - 1)", number(p.Day)
	// The year begins in March, with months counted from 0.
	march := fmt.Sprintf("(%s * 12 + %s - 2)", y, m)
	year := fmt.Sprintf("floor(%s / 12)", march)
	month := fmt.Sprintf("(%s - 12 * %s)", march, year)
	count := fmt.Sprintf("(365 * %s + floor(%s / 4) - floor(%s / 100) + floor(%s / 400) + floor((153 * %s + 2) / 5) + %s - 719469)",
		year, year, year, year, month, d)
	stamp, hour := number(p.Stamp), "0"
	switch {
	case s.Columns[p.Stamp].Kind() == analysis.KindDate:
		stamp += " * 24"
	case p.Hour < 0:
		stamp = "floor(" + stamp + " / 86400) * 24"
	default:
		stamp += " / 3600"
	}
	if p.Hour >= 0 {
		hour = number(p.Hour)
	}
	return "(" + stamp + " - " + count + " * 24 - " + hour + ")"
}
