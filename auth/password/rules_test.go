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
		"alexandra.smith 1":        password.TooCommon,
		"alexandra sees 17 boats":  nil,
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

// TestPasswordsThatAreGuessedFirst checks passwords that people choose often and that have twelve
// characters, and some that are not guessed.
func TestPasswordsThatAreGuessedFirst(t *testing.T) {
	for _, common := range []string{
		"password12345", "p@ssw0rd1234", "Welcome12345", "qwertyuiop12", "1q2w3e4r5t6y", "123456789012", "administrator", "unbelievable",
		"passwordpassword", "iloveyou1234", "lakewarden123", "correct horse battery staple", "abcdefghijkl", "qwertyqwerty1",
		"abcabcabcabc", "aaaaaaaaaaaab", "password2024", "letmeinletmein", "1qaz2wsx3edc", "zaq12wsxcde3",
	} {
		require.ErrorIs(t, password.Check(common, ""), password.TooCommon, common)
	}
	for _, rare := range []string{"tangerine umb", "my dog eats 17 pies", "kV7!uq0-Zr4wP", "vier gelbe Gabeln im Garten"} {
		require.NoError(t, password.Check(rare, "ada@acme.example"), rare)
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
