package analysis

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

func TestLargeAnswersAreNotKept(t *testing.T) {
	large := strings.Repeat("x", maxCachedAnswer)
	for name, answer := range map[string]analysis.Answer{
		"result":     {Result: large},
		"text":       {Text: large},
		"proposals":  {Proposals: []analysis.Proposal{{Change: analysis.UpdateRows{Where: large}}}},
		"references": {References: []analysis.Reference{{Value: &large}}},
	} {
		c := NewCache()
		c.put(digest{1}, answer)
		_, known := c.get(digest{1})
		require.False(t, known, name)
	}
	c := NewCache()
	c.put(digest{1}, analysis.Answer{Result: "small"})
	_, known := c.get(digest{1})
	require.True(t, known)
}
