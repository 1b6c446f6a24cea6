package password

import (
	"slices"
	"strings"
	"unicode/utf8"

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
	lower := strings.ToLower(normal)
	trimmed := strings.TrimSpace(lower)
	email = strings.ToLower(strings.TrimSpace(Normalise(email)))
	local, _, _ := strings.Cut(email, "@")
	switch {
	case email != "" && (trimmed == email || trimmed == local):
		return IsEmail
	case repeats(lower) || slices.Contains(common, trimmed):
		return TooCommon
	}
	return nil
}

// repeats reports whether a text consists of repetitions of at most four bytes.
func repeats(text string) bool {
	for size := 1; size <= min(4, len(text)-1); size++ {
		if text[size:] == text[:len(text)-size] {
			return true
		}
	}
	return false
}

// common holds passwords that are guessed first, in lower case.
var common = []string{
	"012345678901", "0123456789012", "0123456789abcdef", "098765432109", "0987654321098",
	"123456123456", "1234567890-=", "123456789012", "1234567890123", "12345678901234", "123456789012345", "1234567890123456",
	"123456789abc", "1234567890qwerty", "123456abcdef", "12345qwert12345", "1q2w3e4r5t6y", "1q2w3e4r5t6y7u8i", "1qaz2wsx3edc",
	"1qaz2wsx3edc4rfv", "987654321098", "9876543210987",
	"abcdefghijkl", "abcdefghijklm", "abcdefghijklmnop", "abcdefghijklmnopqrstuvwxyz", "abcdef123456", "administrator",
	"administrator1", "adminpassword", "asdfghjkl;'\\", "asdfghjkl123", "asdfghjklqwerty",
	"changemenow1", "changeme1234", "changemeplease", "chelseafootball", "correct horse battery staple", "correcthorsebatterystaple",
	"iloveyou1234", "iloveyouforever", "iloveyousomuch", "lakewarden123", "lakewardenlakewarden", "letmeinplease", "letmein12345",
	"liverpoolfc1", "manchesterunited", "myspacepassword", "mynoobpassword", "newpassword1", "nothing12345",
	"p@ssw0rd1234", "p@ssword1234", "passw0rd1234", "password1234", "password12345", "password123456", "password1234567",
	"passwordpassword", "passwordsucks", "passwort1234", "passwortpasswort", "princess1234",
	"qazwsxedcrfv", "qazwsxedcrfvtgb", "qwerasdfzxcv", "qwerty123456", "qwerty1234567", "qwertyqwerty", "qwertyuiop12", "qwertyuiop123",
	"qwertyuiop[]", "qwertyuiopasdfghjkl", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiop12", "qwertzuiopas", "secretpassword",
	"spongebobsquarepants", "sunshine1234", "superman1234", "temporary123", "testpassword", "testpassword1", "thisisapassword",
	"trustno1trustno1", "unbelievable", "verysecretpassword", "welcome12345", "welcome123456", "whateverwhatever", "zaq12wsxcde3",
	"zxcvbnm12345", "zxcvbnm,./zxcvbnm", "zxcvbnmasdfghjkl", "zxcvbnmzxcvbnm",
}
