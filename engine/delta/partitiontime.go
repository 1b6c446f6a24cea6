package delta

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// civilDate is a day of the proleptic Gregorian calendar, which has a year 0.
type civilDate struct{ year, month, day int }

// instant is a timestamp with or without time zone, to the microsecond.
type instant struct {
	date                 civilDate
	hour, minute, second int
	micros               int
	zoned                bool
}

const daySeconds = 24 * 60 * 60

// The ranges of DuckDB's dates in days and timestamps in microseconds since 1970,
// excluding the extreme numbers, which represent infinities; the maximum digits of a
// year in Spark's forms of both; and the digits of a fraction.
const (
	maxDay        = math.MaxInt32 - 1
	minMicros     = -9223372022400000000
	maxMicros     = math.MaxInt64 - 1
	maxYearDate   = 7
	maxYearStamp  = 6
	fractionPlace = 6
)

var (
	datePattern = regexp.MustCompile(`^([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T](.*))?)?)?$`)
	timePattern = regexp.MustCompile(`^([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?)?(.*)$`)
	zonePattern = regexp.MustCompile(`^(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{1,2})(?::?([0-9]{2}))?)?$`)
)

// splitDate parses a day, whose year has at most yearDigits digits, and returns the
// text after it.
func splitDate(text string, yearDigits int) (d civilDate, rest string, ok bool) {
	m := datePattern.FindStringSubmatch(text)
	if m == nil || len(strings.TrimLeft(m[1], "+-")) > yearDigits {
		return d, "", false
	}
	d = civilDate{number(m[1]), 1, 1}
	if m[2] != "" {
		d.month = number(m[2])
	}
	if m[3] != "" {
		d.day = number(m[3])
	}
	at := d.midnight()
	return d, m[4], at.Year() == d.year && int(at.Month()) == d.month && at.Day() == d.day
}

// number converts digits that a pattern has matched. The empty text is 0.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// parseDate parses a day. Like Spark it ignores a time of day after it.
func parseDate(text string) (civilDate, bool) {
	d, _, ok := splitDate(text, maxYearDate)
	days := d.midnight().Unix() / daySeconds
	return d, ok && max(days, -days) <= maxDay
}

// parseInstant parses a timestamp, which is in UTC if it has no offset. If zoned is
// false, it parses a timestamp without time zone and, like Spark, ignores an offset.
// Digits beyond microseconds are truncated.
func parseInstant(text string, zoned bool) (instant, bool) {
	d, clock, ok := splitDate(text, maxYearStamp)
	at := instant{date: d, zoned: zoned}
	offset := 0
	if clock = trimmed(clock); ok && clock != "" {
		offset, ok = at.readClock(clock)
	}
	if !ok {
		return at, false
	}
	if zoned && offset != 0 {
		moved := time.Date(d.year, time.Month(d.month), d.day, at.hour, at.minute, at.second-offset, 0, time.UTC)
		at.date = civilDate{moved.Year(), int(moved.Month()), moved.Day()}
		at.hour, at.minute, at.second = moved.Clock()
	}
	return at, at.representable()
}

// readClock parses the time of day, and returns its offset in seconds.
func (t *instant) readClock(text string) (offset int, ok bool) {
	m := timePattern.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	t.hour, t.minute, t.second = number(m[1]), number(m[2]), number(m[3])
	t.micros = number((m[4] + "000000")[:fractionPlace])
	if t.hour > 23 || t.minute > 59 || t.second > 59 {
		return 0, false
	}
	return zoneOffset(trimmed(m[5]))
}

// zoneOffset parses an offset from UTC and returns it in seconds.
func zoneOffset(zone string) (int, bool) {
	const most = 18 * 60 * 60
	switch zone {
	case "", "Z", "UTC", "GMT", "UT":
		return 0, true
	}
	m := zonePattern.FindStringSubmatch(zone)
	if m == nil || number(m[3]) > 59 || number(m[4]) > 59 {
		return 0, false
	}
	seconds := (number(m[2])*60+number(m[3]))*60 + number(m[4])
	if m[1] == "-" {
		seconds = -seconds
	}
	return seconds, max(seconds, -seconds) <= most
}

func (t instant) representable() bool {
	midnight := t.date.midnight().Unix()
	seconds := midnight + int64((t.hour*60+t.minute)*60+t.second)
	const perSecond = 1_000_000
	switch least, most := int64(minMicros/perSecond), int64(maxMicros/perSecond); {
	case seconds < least || seconds > most:
		return false
	default:
		return seconds < most || int64(t.micros) <= maxMicros%perSecond
	}
}

func (d civilDate) midnight() time.Time {
	return time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
}

// signedYear prints a year in the form of ISO 8601, with a sign if it has more than
// four digits.
func signedYear(year int) string {
	switch {
	case year < 0:
		return fmt.Sprintf("-%04d", -year)
	case year > 9999:
		return fmt.Sprintf("+%d", year)
	}
	return fmt.Sprintf("%04d", year)
}

func (d civilDate) iso() string {
	return fmt.Sprintf("%s-%02d-%02d", signedYear(d.year), d.month, d.day)
}

func (d civilDate) duckDB() string {
	if d.year > 0 {
		return fmt.Sprintf("%04d-%02d-%02d", d.year, d.month, d.day)
	}
	return fmt.Sprintf("%04d-%02d-%02d (BC)", 1-d.year, d.month, d.day)
}

func (t instant) clock() string {
	return fmt.Sprintf("%02d:%02d:%02d", t.hour, t.minute, t.second)
}

// fraction returns the fractional second with its point, or "" if it is zero.
func (t instant) fraction() string {
	if t.micros == 0 {
		return ""
	}
	return strings.TrimRight(fmt.Sprintf(".%06d", t.micros), "0")
}
