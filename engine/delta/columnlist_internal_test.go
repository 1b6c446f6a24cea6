package delta

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestParseColumns(t *testing.T) {
	for text, want := range map[string][][]string{
		"":                         nil,
		" , ,":                     nil,
		"a, st.x ,b":               {{"a"}, {"st", "x"}, {"b"}},
		"`a, b`.`c.d`, `e``f` . g": {{"a, b", "c.d"}, {"e`f", "g"}},
		"two words":                {{"two words"}},
		"`open, to the end":        {{"open, to the end"}},
	} {
		require.Equal(t, want, parseColumns(text), text)
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("a`.,é ")), 1, 5, -1), 1, 3), 1, 4).Draw(t, "list")
		require.Equal(t, want, parseColumns(printColumns(want)))
	})
}
