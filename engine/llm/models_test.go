package llm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/llm"
)

func TestEachFamilyHasOneDefaultAndNamesOfItsVendor(t *testing.T) {
	t.Parallel()
	defaults := map[llm.Family]string{
		llm.FamilyA: "familyA-sonnet-5", llm.FamilyB: "familyB-5.6-terra", llm.FamilyC: "familyC-3.1-pro-preview",
	}
	prefixes := map[llm.Family]string{llm.FamilyA: "claude-", llm.FamilyB: "gpt-", llm.FamilyC: "gemini-"}
	counts := map[llm.Family]int{}
	seen := map[string]bool{}
	for _, m := range llm.Models() {
		require.False(t, seen[m.ID], m.ID)
		seen[m.ID] = true
		counts[m.Family]++
		require.Equal(t, m.ID == defaults[m.Family], m.Default, m.ID)
		rest, ok := strings.CutPrefix(m.ID, string(m.Family)+"-")
		require.True(t, ok, m.ID)
		require.Equal(t, prefixes[m.Family]+rest, llm.Names{}.VendorName(m))
		require.True(t, llm.ValidName(llm.Names{}.VendorName(m)))
		found, ok := llm.Find(m.ID)
		require.True(t, ok)
		require.Equal(t, m, found)
	}
	require.Equal(t, map[llm.Family]int{llm.FamilyA: 7, llm.FamilyB: 8, llm.FamilyC: 6}, counts)
	for _, f := range llm.Families() {
		m, ok := llm.Default(f)
		require.True(t, ok)
		require.Equal(t, defaults[f], m.ID)
	}
}

func TestUnknownModelsAreNotFound(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "familyA-", "claude-sonnet-5", "familyB-5.6-TERRA", "familyD-1"} {
		_, ok := llm.Find(id)
		require.False(t, ok, id)
	}
	_, ok := llm.Default("familyD")
	require.False(t, ok)
}

func TestNamesOfModelsAreConfigurable(t *testing.T) {
	t.Parallel()
	names := llm.Names{
		Prefixes:  map[llm.Family]string{llm.FamilyA: "vendor/claude-", llm.FamilyC: ""},
		Overrides: map[string]string{"familyB-5.5": "gpt-5.5-2026-01-01"},
	}
	for id, want := range map[string]string{
		"familyA-opus-5": "vendor/claude-opus-5", "familyB-5.5": "gpt-5.5-2026-01-01", "familyB-5.4": "gpt-5.4",
		"familyC-2.5-pro": "2.5-pro",
	} {
		m, ok := llm.Find(id)
		require.True(t, ok, id)
		require.Equal(t, want, names.VendorName(m))
	}
}

func TestChangingTheListOfModelsChangesACopy(t *testing.T) {
	t.Parallel()
	llm.Models()[0].ID = "changed"
	require.Equal(t, "familyA-fable-5", llm.Models()[0].ID)
}

func TestNamesThatCouldLeaveThePathAreInvalid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "..", "a/../b", "/a", "a/", "a//b", "a?b", "a&b", "a b", "a#b", "a%2fb", "a\nb",
		strings.Repeat("a", 201)} {
		require.False(t, llm.ValidName(name), "%q", name)
	}
	for _, name := range []string{"claude-opus-5", "gpt-5.6", "vendor/gemini-2.5-pro:free", "tuned@20260101"} {
		require.True(t, llm.ValidName(name), "%q", name)
	}
}
