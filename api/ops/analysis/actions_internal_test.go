package analysis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

func TestEveryActionIsServed(t *testing.T) {
	require.Len(t, actions, len(analysis.Actions()))
	seen := map[string]bool{}
	for _, a := range analysis.Actions() {
		w, ok := actions[a]
		require.True(t, ok, a)
		require.NotNil(t, w.run)
		require.False(t, seen[w.result.String()], "the document of %s is that of another action", a)
		seen[w.result.String()] = true
	}
}

func TestRequestsAreChecked(t *testing.T) {
	one, zero := int64(1), int64(0)
	for field, r := range map[string]Request{
		"action":         {Action: "summarise"},
		"limit":          {Action: analysis.Summary, Limit: maxLimit + 1},
		"version_from":   {Action: analysis.ExplainChanges, VersionTo: &one},
		"version_to":     {Action: analysis.Summary, VersionTo: &zero},
		"source_columns": {Action: analysis.SuggestMapping},
		"where":          {Action: analysis.ExplainRows},
		"keys":           {Action: analysis.FixNulls, Keys: []map[string]any{{"id": "1"}}},
		"source_columns[1]": {Action: analysis.SuggestMapping,
			SourceColumns: []analysis.SourceColumn{{Name: "a"}, {Name: " "}}},
	} {
		require.ErrorContains(t, r.validate(), field, "%+v", r)
	}
	for _, r := range []Request{
		{Action: analysis.Summary, Where: "id > 1"},
		{Action: analysis.ExplainRows, Where: "id = 1"},
		{Action: analysis.ExplainRows, Keys: []map[string]any{{"id": "1"}}},
		{Action: analysis.ExplainChanges, VersionFrom: &zero, VersionTo: &one},
	} {
		require.NoError(t, r.validate())
	}
}
