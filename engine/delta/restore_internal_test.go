package delta

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// TestMergeProtocols checks that the merged protocol covers both, whatever they are.
func TestMergeProtocols(t *testing.T) {
	draw := func(t *rapid.T, label string) action.Protocol {
		p := action.Protocol{MinReaderVersion: rapid.IntRange(1, 3).Draw(t, label+" reader"),
			MinWriterVersion: rapid.IntRange(1, 7).Draw(t, label+" writer")}
		if p.MinReaderVersion == 3 {
			p.MinWriterVersion = 7
		}
		if p.MinWriterVersion == 7 {
			p.WriterFeatures = slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.SampledFrom(writable), 0, 5, rapid.ID).Draw(t, label+
				" features")))
		}
		for _, f := range p.WriterFeatures {
			if p.MinReaderVersion == 3 && slices.Contains(readable, f) {
				p.ReaderFeatures = append(p.ReaderFeatures, f)
			}
		}
		return p
	}
	rapid.Check(t, func(t *rapid.T) {
		now, then := draw(t, "now"), draw(t, "then")
		p := mergeProtocols(now, then)
		require.NoError(t, grows(&now, &p))
		require.NoError(t, grows(&then, &p))
		for _, old := range []action.Protocol{now, then} {
			require.GreaterOrEqual(t, p.MinReaderVersion, old.MinReaderVersion)
			for _, f := range old.ReaderFeatures {
				require.Contains(t, p.ReaderFeatures, f)
			}
		}
		require.Equal(t, p, mergeProtocols(p, then), "nothing is left to grow")
	})
}
