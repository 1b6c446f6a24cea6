package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis/cluster"
)

func TestFormsThatShareAKeyByChanceAreCandidates(t *testing.T) {
	clusters, candidates := cluster.Of([]cluster.Form{
		{Text: "Coranmont Cooperative", Rows: 9}, {Text: "Moranmont Cooperative", Rows: 8}, {Text: "Ulm Foundry", Rows: 7},
		{Text: "ulm foundry", Rows: 1}, {Text: "Kiel Bakery", Rows: 1},
	})
	require.Len(t, clusters, 1)
	require.Equal(t, "Ulm Foundry", clusters[0].Forms[0].Text)
	require.Len(t, candidates, 1, "the pairs of letters of both are the same")
	require.Equal(t, []string{"Coranmont Cooperative", "Moranmont Cooperative"},
		[]string{candidates[0].Forms[0].Text, candidates[0].Forms[1].Text})
	require.Less(t, candidates[0].Confidence, clusters[0].Confidence)
}
