package apikey

import (
	"errors"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The bounds of a key's life.
const (
	MinLifetime     = 5 * time.Minute
	MaxLifetime     = 366 * 24 * time.Hour
	DefaultLifetime = 90 * 24 * time.Hour
)

// ErrInvalidExpiry is returned for an invalid expires_in or expires_at of a request;
// see [ExpiryError]: 422.
var ErrInvalidExpiry = errors.New("invalid key expiry")

// ExpiryError names the invalid field of the request and the reason, in words for the
// caller. It wraps [ErrInvalidExpiry].
type ExpiryError struct{ Field, Message string }

// Error names the field.
func (e *ExpiryError) Error() string { return ErrInvalidExpiry.Error() + ": " + e.Field }

// Unwrap returns [ErrInvalidExpiry].
func (e *ExpiryError) Unwrap() error { return ErrInvalidExpiry }

// FieldProblems yields the one field and its message.
func (e *ExpiryError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield(e.Field, e.Message) }
}

// Expiry returns the expiry of a key from two fields of the request, where nil means
// absent or null. in is a Go duration (72h), days or weeks (30d, 2w), or an ISO 8601
// duration (P90D, P1Y, PT12H; months and years by the calendar). at is an RFC 3339
// timestamp. If both are nil the key has the [DefaultLifetime]. Every error is an
// [*ExpiryError]. The result is UTC in whole microseconds.
func Expiry(now time.Time, in, at *string) (time.Time, error) {
	now = now.UTC()
	var end time.Time
	field := "expires_in"
	switch {
	case in != nil && at != nil:
		return time.Time{}, &ExpiryError{"expires_at", "must not be sent together with expires_in"}
	case in != nil:
		var ok bool
		if end, ok = addDuration(now, *in); !ok {
			return time.Time{}, &ExpiryError{field, "must be a duration such as 72h, 30d, 2w or P90D"}
		}
	case at != nil:
		field = "expires_at"
		parsed, err := time.Parse(time.RFC3339, *at)
		if err != nil {
			return time.Time{}, &ExpiryError{field, "must be an RFC 3339 timestamp"}
		}
		end = parsed.UTC()
	default:
		end = now.Add(DefaultLifetime)
	}
	// Compared as instants: a difference of far-off times would saturate.
	if end.Before(now.Add(MinLifetime)) || end.After(now.Add(MaxLifetime)) {
		return time.Time{}, &ExpiryError{field, "must lie between 5 minutes and 366 days from now"}
	}
	return end.Truncate(time.Microsecond), nil
}

var (
	daysOrWeeks = regexp.MustCompile(`^([0-9]{1,5})([dw])$`)
	isoWeeks    = regexp.MustCompile(`^P([0-9]{1,5})W$`)
	isoDuration = regexp.MustCompile(`^P(?:([0-9]{1,5})Y)?(?:([0-9]{1,5})M)?(?:([0-9]{1,5})D)?(T(?:([0-9]{1,9})H)?(?:([0-9]{1,` +
		`9})M)?(?:([0-9]{1,9})S)?)?$`)
)

// addDuration adds a duration in one of the accepted notations to now.
func addDuration(now time.Time, text string) (time.Time, bool) {
	if m := daysOrWeeks.FindStringSubmatch(text); m != nil {
		days := number(m[1])
		if m[2] == "w" {
			days *= 7
		}
		return now.Add(time.Duration(days) * 24 * time.Hour), true
	}
	if m := isoWeeks.FindStringSubmatch(text); m != nil {
		return now.AddDate(0, 0, 7*number(m[1])), true
	}
	// A bare P or a trailing T matches the pattern's optional parts but is not a
	// duration.
	if m := isoDuration.FindStringSubmatch(text); m != nil && text != "P" && !strings.HasSuffix(text, "T") {
		clock := time.Duration(number(m[5]))*time.Hour + time.Duration(number(m[6]))*time.Minute + time.Duration(number(m[7]))*time.Second
		if number(m[5]) > 24*366 { // beyond any bound, and the product above would overflow
			return now.Add(2 * MaxLifetime), true
		}
		return now.AddDate(number(m[1]), number(m[2]), number(m[3])).Add(clock), true
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return time.Time{}, false
	}
	return now.Add(d), true
}

// number parses digits that a pattern has bounded already; "" is 0.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
