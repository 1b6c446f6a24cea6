package csvbody

import (
	"errors"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// TimeFormat is a form of dates or timestamps, in a subset of the directives of strptime as
// DuckDB has them:
//
//	%Y        year, four digits
//	%y        year, two digits: 69 to 99 are of the 20th century, the others of the 21st
//	%m %-m    month, one or two digits
//	%b %B     month, its English name: short or in full, in any case
//	%d %-d    day of the month, one or two digits
//	%a %A     day of the week, its English name: short or in full; it must be that of the date
//	%j        day of the year, one to three digits
//	%H %-H    hour from 0 to 23, one or two digits
//	%I %-I    hour from 1 to 12, one or two digits, together with %p
//	%p        AM or PM, in any case
//	%M %-M    minute, one or two digits
//	%S %-S    second, one or two digits
//	%g        millisecond, three digits
//	%f        fraction of the second; digits beyond the sixth must be zeros
//	%z        offset from UTC: Z, +HH, +HHMM or +HH:MM
//	%%        a percent sign
//
// Other characters stand for themselves. A TimeFormat is safe for concurrent use.
type TimeFormat struct {
	text  string
	parts []part
	// hasTime reports directives of a time, hasOffset that of an offset.
	hasTime, hasOffset bool
}

// part is a directive, or literal text if the directive is 0.
type part struct {
	directive byte
	literal   string
}

// String returns the text of the format.
func (f *TimeFormat) String() string { return f.text }

// HasOffset reports whether values have an offset from UTC.
func (f *TimeFormat) HasOffset() bool { return f.hasOffset }

const (
	directives     = "YymbBdaAjHIpMSgfz"
	unpadded       = "mdHIMS" // have a form with a hyphen
	timeDirectives = "HIpMSgfz"
	maxFormat      = 256
)

// ParseTimeFormat reads a format. The message of an error describes what a format must be.
func ParseTimeFormat(text string) (*TimeFormat, error) {
	if len(text) > maxFormat || strings.ContainsAny(text, "\x00\r\n") {
		return nil, errors.New("must be one line of at most 256 bytes")
	}
	f := &TimeFormat{text: text}
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			f.literal(text[i])
			continue
		}
		i++
		hyphen := i < len(text) && text[i] == '-'
		if hyphen {
			i++
		}
		switch {
		case i == len(text) || hyphen && strings.IndexByte(unpadded, text[i]) < 0:
			return nil, errUnknownDirective
		case text[i] == '%':
			f.literal('%')
		case strings.IndexByte(directives, text[i]) < 0:
			return nil, errUnknownDirective
		default:
			f.parts = append(f.parts, part{directive: text[i]})
		}
	}
	return f, f.check()
}

var errUnknownDirective = errors.New("must have only the directives %Y %y %m %-m %b %B %d %-d %a %A %j " +
	"%H %-H %I %-I %p %M %-M %S %-S %g %f %z %%")

func (f *TimeFormat) literal(c byte) {
	if n := len(f.parts); n > 0 && f.parts[n-1].directive == 0 {
		f.parts[n-1].literal += string(c)
		return
	}
	f.parts = append(f.parts, part{literal: string(c)})
}

// check refuses formats that say something twice or leave it open.
func (f *TimeFormat) check() error {
	var count [256]int
	for _, p := range f.parts {
		count[p.directive]++
		if strings.IndexByte(timeDirectives, p.directive) >= 0 && p.directive != 0 {
			f.hasTime = true
		}
	}
	f.hasOffset = count['z'] > 0
	month, day := count['m']+count['b']+count['B'], count['d']
	hour := count['H'] + count['I']
	switch {
	case count['Y']+count['y'] != 1:
		return errors.New("must have one of %Y and %y")
	case count['j'] > 1 || count['j'] == 1 && month+day > 0:
		return errors.New("must not have %j together with a month or a day")
	case count['j'] == 0 && (month != 1 || day != 1):
		return errors.New("must have a month (%m, %b or %B) and %d")
	case count['a']+count['A'] > 1 || hour > 1 || count['M'] > 1 || count['S'] > 1 || count['g']+count['f'] > 1 || count['z'] > 1 ||
		count['p'] > 1:
		return errors.New("must not have a part of the time twice")
	case count['I'] != count['p']:
		return errors.New("must have %I and %p together")
	case count['M'] > hour || count['S'] > count['M'] || count['g']+count['f'] > count['S'] || count['z'] > hour:
		return errors.New("must have hours with minutes or an offset, minutes with seconds, and seconds with fractions")
	}
	return nil
}

// instant collects the parts of a value.
type instant struct {
	year, month, day, yearDay int
	weekday                   int
	hour, minute, second      int
	afternoon                 bool
	micros                    int64
	offset                    int // minutes
	weekdayGiven, twelve      bool
}

// Date returns the days since 1970-01-01 of a text in the format.
func (f *TimeFormat) Date(text []byte) (days int32, ok bool) {
	var v instant
	if !f.parse(text, &v) {
		return 0, false
	}
	return v.days()
}

// Timestamp returns the microseconds since 1970-01-01 of a text in the format, in UTC if it has
// an offset.
func (f *TimeFormat) Timestamp(text []byte) (micros int64, ok bool) {
	var v instant
	if !f.parse(text, &v) {
		return 0, false
	}
	days, ok := v.days()
	if !ok || v.hour > 23 || v.minute > 59 || v.second > 59 {
		return 0, false
	}
	if v.twelve {
		if v.hour < 1 || v.hour > 12 {
			return 0, false
		}
		v.hour %= 12
		if v.afternoon {
			v.hour += 12
		}
	}
	seconds := int64((v.hour*60+v.minute-v.offset)*60 + v.second)
	return int64(days)*sqltype.MicrosOfDay + seconds*1_000_000 + v.micros, true
}

// days returns the date. The day of the week, if the text has one, must be that of the date.
func (v *instant) days() (int32, bool) {
	days, ok := int32(0), false
	if v.yearDay > 0 {
		var last int32
		days, ok = sqltype.Days(v.year, 1, 1)
		last, _ = sqltype.Days(v.year, 12, 31)
		days += int32(v.yearDay) - 1 //nolint:gosec // of three digits
		ok = ok && days <= last
	} else {
		days, ok = sqltype.Days(v.year, v.month, v.day)
	}
	const thursday = 4 // 1970-01-01
	if v.weekdayGiven && ok {
		ok = ((int(days)+thursday)%7+7)%7 == v.weekday
	}
	return days, ok
}

func (f *TimeFormat) parse(text []byte, v *instant) bool {
	for _, p := range f.parts {
		var ok bool
		if p.directive == 0 {
			n := len(p.literal)
			if len(text) < n || string(text[:n]) != p.literal {
				return false
			}
			text = text[n:]
			continue
		}
		if text, ok = v.take(p.directive, text); !ok {
			return false
		}
	}
	return len(text) == 0
}

// take reads one part of a value and returns the remaining text.
func (v *instant) take(directive byte, text []byte) (rest []byte, ok bool) {
	switch directive {
	case 'Y':
		return digits(text, 4, 4, &v.year)
	case 'y':
		if rest, ok = digits(text, 2, 2, &v.year); v.year < 69 {
			v.year += 100
		}
		v.year += 1900
	case 'm':
		return digits(text, 1, 2, &v.month)
	case 'd':
		return digits(text, 1, 2, &v.day)
	case 'j':
		rest, ok = digits(text, 1, 3, &v.yearDay)
		ok = ok && v.yearDay > 0
	case 'H', 'I':
		v.twelve = directive == 'I'
		return digits(text, 1, 2, &v.hour)
	case 'M':
		return digits(text, 1, 2, &v.minute)
	case 'S':
		return digits(text, 1, 2, &v.second)
	case 'g':
		var millis int
		rest, ok = digits(text, 3, 3, &millis)
		v.micros = int64(millis) * 1000
	case 'f':
		var tail string
		v.micros, tail, ok = sqltype.Fraction(string(text))
		rest = text[len(text)-len(tail):]
	case 'p':
		if ok = len(text) >= 2 && text[1]|' ' == 'm' && (text[0]|' ' == 'a' || text[0]|' ' == 'p'); ok {
			v.afternoon, rest = text[0]|' ' == 'p', text[2:]
		}
	case 'z':
		v.offset, rest, ok = offset(text)
	case 'b', 'B':
		v.month, rest, ok = named(months[:], text, directive == 'b')
		v.month++
	default:
		v.weekday, rest, ok = named(weekdays[:], text, directive == 'a')
		v.weekdayGiven = true
	}
	return rest, ok
}

// digits reads a number of least to most digits.
func digits(text []byte, least, most int, into *int) (rest []byte, ok bool) {
	n := 0
	for *into = 0; n < len(text) && n < most && text[n]-'0' <= 9; n++ {
		*into = *into*10 + int(text[n]-'0')
	}
	return text[n:], n >= least
}

// offset reads Z, ±HH, ±HHMM or ±HH:MM as minutes.
func offset(text []byte) (minutes int, rest []byte, ok bool) {
	if len(text) > 0 && text[0]|' ' == 'z' {
		return 0, text[1:], true
	}
	if len(text) == 0 || text[0] != '+' && text[0] != '-' {
		return 0, nil, false
	}
	var hours, more int
	if rest, ok = digits(text[1:], 2, 2, &hours); !ok || hours > 23 {
		return 0, nil, false
	}
	after := rest
	if len(after) > 0 && after[0] == ':' {
		after = after[1:]
	}
	if end, two := digits(after, 2, 2, &more); two {
		rest = end
	} else if len(after) != len(rest) {
		return 0, nil, false
	}
	minutes = hours*60 + more
	if text[0] == '-' {
		minutes = -minutes
	}
	return minutes, rest, more <= 59
}

var (
	months = [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
		"december"}
	weekdays = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
)

// named reads one of the names, or its first three letters, in any case.
func named(names []string, text []byte, short bool) (index int, rest []byte, ok bool) {
	for i, name := range names {
		if short {
			name = name[:3]
		}
		if len(text) >= len(name) && strings.EqualFold(string(text[:len(name)]), name) {
			return i, text[len(name):], true
		}
	}
	return 0, nil, false
}
