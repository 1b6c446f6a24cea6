package relation

import (
	"math"
	"slices"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// maxOffsets is the number of differences between a stamp and its parts, as with summer
// time.
const maxOffsets = 3

// DateParts returns the stamps of the sample whose parts other columns hold.
func (s *Sample) DateParts() []Parts {
	var out []Parts
	for stamp, c := range s.Columns {
		if !c.Temporal() {
			continue
		}
		// Enough rows have the same part even if the time zones differ.
		years := s.likely(stamp, 1000, 3000, func(y, _, _ int) int { return y })
		months := s.likely(stamp, 1, 12, func(_, m, _ int) int { return m })
		days := s.likely(stamp, 1, 31, func(_, _, d int) int { return d })
		if len(years) == 0 || len(months) == 0 || len(days) == 0 {
			continue
		}
		p := Parts{Stamp: stamp, Year: years[0], Month: months[0], Day: days[0], Hour: -1}
		if c.Kind() == analysis.KindTimestamp {
			for hour := range s.Columns {
				if s.within(hour, 0, 23) && s.Distinct[hour] >= 5 && !slices.Contains([]int{p.Year, p.Month, p.Day}, hour) {
					q := p
					q.Hour = hour
					if q.Offsets = s.offsets(q); len(q.Offsets) > 0 {
						out = append(out, q)
						break
					}
				}
			}
		}
		if len(out) > 0 && out[len(out)-1].Stamp == stamp {
			continue
		}
		if p.Offsets = s.offsets(p); len(p.Offsets) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// within reports whether nearly all values of a column are whole numbers of a range.
func (s *Sample) within(column int, low, high float64) bool {
	if s.Columns[column].Kind() != analysis.KindInteger {
		return false
	}
	rows, fit := 0, 0
	for _, v := range s.Numbers[column] {
		if !math.IsNaN(v) {
			rows++
			if v >= low && v <= high {
				fit++
			}
		}
	}
	return rows >= minSupport && float64(fit) >= 0.97*float64(rows)
}

// likely returns the columns that have a part of the stamp in more than half of the rows.
func (s *Sample) likely(stamp int, low, high float64, part func(y, m, d int) int) []int {
	var out []int
	for column := range s.Columns {
		if !s.within(column, low, high) {
			continue
		}
		rows, fit := 0, 0
		for row, v := range s.Numbers[column] {
			at := s.Numbers[stamp][row]
			if math.IsNaN(v) || math.IsNaN(at) {
				continue
			}
			if s.Columns[stamp].Kind() == analysis.KindTimestamp {
				at /= 86400
			}
			rows++
			if v == float64(part(civil(math.Floor(at)))) {
				fit++
			}
			if rows == 1000 && fit < 500 {
				break
			}
		}
		if rows >= minSupport && fit*2 > rows {
			out = append(out, column)
		}
	}
	return out
}

// offsets returns the few differences that occur in nearly all rows, or nil.
func (s *Sample) offsets(p Parts) []float64 {
	counts, rows := map[float64]int{}, 0
	for at := range s.Rows {
		d := s.Difference(p, func(c int) float64 { return s.Numbers[c][at] })
		if !math.IsNaN(d) {
			rows++
			counts[math.Floor(d)]++
		}
	}
	var out []float64
	held := 0
	for d, n := range counts {
		if n*100 >= rows {
			out = append(out, d)
			held += n
		}
	}
	if rows < minSupport || len(out) > maxOffsets || float64(held) < 0.97*float64(rows) {
		return nil
	}
	slices.Sort(out)
	return out
}

// civil returns the date of a number of days since 1970.
func civil(day float64) (y, m, d int) {
	z := int(day) + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	m = mp + 3
	if m > 12 {
		m -= 12
	}
	y = yoe + era*400
	if m <= 2 {
		y++
	}
	return y, m, d
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// PartsOf returns the year, month, day and hour that fit a stamp with one of the offsets.
func (s *Sample) PartsOf(p Parts, stamp, offset float64) [4]float64 {
	if s.Columns[p.Stamp].Kind() == analysis.KindDate {
		stamp *= 86400
	}
	at := stamp - offset*3600
	day := math.Floor(at / 86400)
	year, month, date := civil(day)
	return [4]float64{float64(year), float64(month), float64(date), math.Floor((at - day*86400) / 3600)}
}
