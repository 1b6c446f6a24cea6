package password_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/auth/password"
)

func TestRulesOfNewPasswords(t *testing.T) {
	for candidate, want := range map[string]error{
		"tangerine umb":            nil,
		"only letters in here":     nil,
		strings.Repeat("ab1", 4):   password.TooCommon,
		"elevenchars":              password.TooShort,
		"":                         password.TooShort,
		strings.Repeat(" ", 12):    password.TooCommon,
		strings.Repeat("a", 30):    password.TooCommon,
		"PassWord1234":             password.TooCommon,
		" password1234 ":           password.TooCommon,
		"alexandra.smith":          password.IsEmail,
		"Alexandra.Smith@Acme.io":  password.IsEmail,
		"alexandra.smith 1":        nil,
		"\u6a58\u5098\u7a93\u96ea": password.TooShort, // 12 bytes
		"\u6a58\u5098\u7a93\u96ea\u5ddd\u6708\u5c71\u9ce5\u77f3\u706b\u98a8\u8349": nil,
		strings.Repeat("\u1e9e", 12): password.TooCommon,
		"\xff\xfe is not a text":     password.NotText,
		"zero \x00 terminated":       password.NotText,
		// 14 characters of three bytes each, in a form of fewer bytes.
		"\uff54\uff41\uff4e\uff47\uff45\uff52\uff49\uff4e\uff45\uff55\uff4d\uff42": nil,
		strings.Repeat("lorem ipsum dolor sit ", 12)[:password.MaxBytes]:           nil,
		strings.Repeat("lorem ipsum dolor sit ", 12)[:password.MaxBytes+1]:         password.TooLong,
		strings.Repeat("lorem ipsum dolor sit ", 1000):                             password.TooLong,
		strings.Repeat("\ufdfa\ufdfb", 20):                                         password.TooLong, // longer in its normal form
	} {
		require.ErrorIs(t, password.Check(candidate, "alexandra.smith@acme.io"), want, "%q", candidate)
	}
}

func TestTheRulesJudgeEveryText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		candidate, email := rapid.String().Draw(t, "candidate"), rapid.String().Draw(t, "email")
		if password.Check(candidate, email) == nil {
			normal := password.Normalise(candidate)
			require.GreaterOrEqual(t, utf8.RuneCountInString(normal), password.MinCharacters)
			require.LessOrEqual(t, len(normal), password.MaxBytes)
		}
	})
}
