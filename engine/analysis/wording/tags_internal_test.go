package wording

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

func TestNoTagsButKnownOnesRemain(t *testing.T) {
	t.Parallel()
	references := []analysis.Reference{{Row: 1, Column: "a"}, {Row: 1, Column: "a]"}, {Row: 2, Column: "b ]] c"}, {Row: 12, Column: "[[1:a]]"}}
	pieces := []string{"[", "]", "[[", "]]", "1", "2", ":", "a", " ", "\n", "é", "[[1:a]]", "[[1:a]]]", "[[2:b ]] c]]", "[[9:x]]"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 24).Draw(t, "pieces"), "")
		out, _ := keepTags(text, references)
		for rest := out; ; {
			at := strings.Index(rest, "[[")
			if at < 0 {
				break
			}
			rest = rest[at:]
			length := 0
			for _, r := range references {
				if tag := r.Tag(); strings.HasPrefix(rest, tag) {
					length = max(length, len(tag))
				}
			}
			require.NotZero(t, length, "%q of %q", out, text)
			rest = rest[length:]
		}
		again, dropped := keepTags(out, references)
		require.Equal(t, out, again)
		require.Zero(t, dropped)
	})
}
