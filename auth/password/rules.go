package password

import (
	"strings"
	"unicode/utf8"

	"github.com/trustelem/zxcvbn"
	"golang.org/x/text/unicode/norm"
)

// The bounds of the length of a password in its NFKC form.
const (
	// MinCharacters is counted in Unicode code points, which people can count.
	MinCharacters = 12
	// MaxBytes bounds the work of one hash.
	MaxBytes = 256
)

// RuleError is a rule that a new password breaks: 422. Its text is meant for the person who
// chose the password.
type RuleError string

// Error implements error.
func (e RuleError) Error() string { return string(e) }

// The rules.
const (
	NotText   RuleError = "must be valid text"
	TooShort  RuleError = "must have at least 12 characters"
	TooLong   RuleError = "must have at most 256 bytes"
	IsEmail   RuleError = "must not be the e-mail address or its first part"
	TooCommon RuleError = "is too easy to guess; choose another one"
)

// Normalise returns the NFKC form of a password, in which passwords are compared: one
// password can be typed as different sequences of characters on different devices.
func Normalise(password string) string { return norm.NFKC.String(password) }

// Check returns nil if a password of the account with the given e-mail address may be set,
// else a [RuleError]. A password needs no digits, symbols or capital letters: such rules
// make passwords weaker.
func Check(password, email string) error {
	if !utf8.ValidString(password) || strings.ContainsRune(password, 0) {
		return NotText
	}
	if len(password) > 4*MaxBytes { // too long in any form
		return TooLong
	}
	normal := Normalise(password)
	switch {
	case utf8.RuneCountInString(normal) < MinCharacters:
		return TooShort
	case len(normal) > MaxBytes:
		return TooLong
	}
	trimmed := strings.ToLower(strings.TrimSpace(normal))
	email = strings.ToLower(strings.TrimSpace(Normalise(email)))
	local, _, _ := strings.Cut(email, "@")
	switch {
	case email != "" && (trimmed == email || trimmed == local):
		return IsEmail
	case repeats(strings.ToLower(normal)) || easy(trimmed, local):
		return TooCommon
	}
	return nil
}

// repeats reports whether a text consists of repetitions of at most four bytes. The estimate of easy
// knows repetitions of single-byte characters only.
func repeats(text string) bool {
	for size := 1; size <= min(4, len(text)-1); size++ {
		if text[size:] == text[:len(text)-size] {
			return true
		}
	}
	return false
}

// The bounds of what is guessed easily.
const (
	easyGuesses = 10_000_000
	// judgedBytes bounds the work of the estimate, which grows with the square of the length.
	judgedBytes = 72
)

// easy reports whether a password is estimated to be among the first easyGuesses that somebody who
// guesses tries: common passwords and words, names, rows of keys, dates, repetitions and sequences, and
// few of them together. words are those that such a person knows of the account.
func easy(text string, words ...string) bool {
	if len(text) > judgedBytes {
		text = strings.ToValidUTF8(text[:judgedBytes], "")
	}
	words = append(words, "lakewarden", "correct horse battery staple", "correcthorsebatterystaple")
	return zxcvbn.PasswordStrength(text, words).Guesses < easyGuesses
}
