package sqltype

// Offset is what a timestamp as text says about its distance from UTC.
type Offset int

const (
	// WithoutOffset requires a timestamp without an offset.
	WithoutOffset Offset = iota
	// WithOffset requires an offset: Z or ±hh:mm.
	WithOffset
	// OptionalOffset allows both. A timestamp without an offset is in UTC.
	OptionalOffset
)

// MicrosOfDay is the number of microseconds of a day.
const MicrosOfDay = 24 * 60 * 60 * 1_000_000

// The first and the last value of the years 0001 to 9999, as days and as microseconds since
// 1970-01-01.
const (
	FirstDay    = -719_162
	LastDay     = 2_932_896
	FirstMicros = FirstDay * MicrosOfDay
	LastMicros  = (LastDay+1)*MicrosOfDay - 1
)

// ParseDays parses a strict date, yyyy-mm-dd with a year from 0001 to 9999, as days since
// 1970-01-01.
func ParseDays(text string) (int32, bool) {
	if len(text) != 10 || text[4] != '-' || text[7] != '-' {
		return 0, false
	}
	y1, ok1 := twoDigits(text[0:])
	y2, ok2 := twoDigits(text[2:])
	month, ok3 := twoDigits(text[5:])
	day, ok4 := twoDigits(text[8:])
	days, ok := Days(y1*100+y2, month, day)
	return days, ok && ok1 && ok2 && ok3 && ok4
}

// Days returns a date of the years 1 to 9999 as days since 1970-01-01. ok is false if the date
// does not exist.
func Days(year, month, day int) (days int32, ok bool) {
	if year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	return int32(daysBefore(year, month) + day - 1), true //nolint:gosec // of four-digit years
}

// twoDigits parses the first two bytes.
func twoDigits(text string) (int, bool) {
	a, b := text[0]-'0', text[1]-'0'
	return int(a)*10 + int(b), a <= 9 && b <= 9
}

func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysIn(year, month int) int {
	switch {
	case month == 2 && leap(year):
		return 29
	case month == 2:
		return 28
	case month == 4, month == 6, month == 9, month == 11:
		return 30
	}
	return 31
}

// monthStart are the days before each month of a year without leap day.
var monthStart = [...]int{0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334}

// daysBefore counts the days from 1970-01-01 to the first of a month.
func daysBefore(year, month int) int {
	before := year - 1
	days := before*365 + before/4 - before/100 + before/400 + monthStart[month]
	if month > 2 && leap(year) {
		days++
	}
	const epoch = 719_162 // days from 0001-01-01 to 1970-01-01
	return days - epoch
}

// ParseMicros parses a timestamp in the form of RFC 3339, with a T or a blank between date and time
// and an offset as the mode says, as microseconds since 1970-01-01, in UTC if it has an offset. The
// year is from 0001 to 9999. Digits beyond the microsecond must be zeros.
func ParseMicros(text string, mode Offset) (int64, bool) {
	if len(text) < 19 || text[10] != 'T' && text[10] != ' ' && text[10] != 't' || text[13] != ':' || text[16] != ':' {
		return 0, false
	}
	days, ok := ParseDays(text[:10])
	hour, ok1 := twoDigits(text[11:])
	minute, ok2 := twoDigits(text[14:])
	second, ok3 := twoDigits(text[17:])
	if !ok || !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	micros, rest, ok := parseFraction(text[19:])
	if !ok {
		return 0, false
	}
	micros += int64(days)*MicrosOfDay + int64((hour*60+minute)*60+second)*1_000_000
	if rest == "" {
		return micros, mode != WithOffset
	}
	minutes, ok := parseOffset(rest)
	return micros - int64(minutes)*60_000_000, ok && mode != WithoutOffset
}

// parseFraction parses .digits as microseconds and returns the text after them.
func parseFraction(text string) (int64, string, bool) {
	if len(text) == 0 || text[0] != '.' {
		return 0, text, true
	}
	return Fraction(text[1:])
}

// Fraction reads the digits of a fraction of a second as microseconds and returns what follows.
// ok is false without a digit and if digits beyond the microsecond are not zeros.
func Fraction(text string) (micros int64, rest string, ok bool) {
	unit, i := int64(100_000), 0
	for ; i < len(text) && '0' <= text[i] && text[i] <= '9'; i++ {
		digit := int64(text[i] - '0')
		if unit == 0 && digit != 0 {
			return 0, "", false
		}
		micros += digit * unit
		unit /= 10
	}
	return micros, text[i:], i > 0
}

// parseOffset parses Z or ±hh:mm as minutes.
func parseOffset(text string) (int, bool) {
	if len(text) == 1 {
		return 0, text[0]|' ' == 'z'
	}
	if len(text) != 6 || text[0] != '+' && text[0] != '-' || text[3] != ':' {
		return 0, false
	}
	hours, ok1 := twoDigits(text[1:])
	minutes, ok2 := twoDigits(text[4:])
	total := hours*60 + minutes
	if text[0] == '-' {
		total = -total
	}
	return total, ok1 && ok2 && hours <= 23 && minutes <= 59
}
