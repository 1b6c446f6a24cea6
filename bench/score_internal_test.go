package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScorePairs(t *testing.T) {
	// The persons of the rows 1 to 6. Three pairs are true: 1-2, 1-3 and 2-3.
	entities := []int{7, 7, 7, 8, 9, 10}
	cases := []struct {
		name     string
		clusters [][]int
		want     score
	}{
		{"all", [][]int{{1, 2, 3}}, score{1, 1}},
		{"some", [][]int{{1, 2}}, score{1, 1.0 / 3}},
		{"too many", [][]int{{1, 2, 3, 4}}, score{0.5, 1}},
		{"single rows are no pairs", [][]int{{1}, {2}, {3}}, score{0, 0}},
		{"an unknown row does not count", [][]int{{1, 2, 99, 0}}, score{1, 1.0 / 3}},
		{"a row counts in its first cluster", [][]int{{1, 2}, {2, 4}}, score{1, 1.0 / 3}},
		{"none", nil, score{0, 0}},
	}
	for _, c := range cases {
		require.Equal(t, c.want, scorePairs(c.clusters, entities), c.name)
	}
	require.InDelta(t, 0.5, score{1, 1.0 / 3}.f1(), 1e-9)
	require.Zero(t, score{}.f1())
}

func TestMissingClusters(t *testing.T) {
	known := [][]string{{"a", "A"}, {"b", "B", "b."}, {"c", "C"}}
	missing, extra := missingClusters(known, [][]string{{"A", "a", "other"}, {"b", "B"}, {"c"}, {"C"}, {"x", "y"}})
	require.Equal(t, [][]string{{"b", "B", "b."}, {"c", "C"}}, missing, "a cluster in two parts is not found")
	require.Equal(t, 4, extra)
	missing, extra = missingClusters(known[:2], [][]string{{"a", "A", "b", "B", "b."}})
	require.Empty(t, missing)
	require.Zero(t, extra)
}

func TestScoreDefects(t *testing.T) {
	planted := []defect{
		{Kind: "far", Row: 4, Columns: []string{"x"}},
		{Kind: "torn", Row: 9, Columns: []string{"x", "y"}},
		{Kind: "torn", Row: 12, Columns: []string{"y"}},
	}
	found, missed, wrong := scoreDefects(planted, []place{{4, "x"}, {4, "x"}, {9, "y"}, {9, "x"}, {4, "y"}, {0, "z"}, {0, "z"}})
	require.InDelta(t, 2.0/3, found.recall, 1e-9)
	require.InDelta(t, 3.0/6, found.precision, 1e-9, "two reasons for a cell count once, unresolved rows each")
	require.Equal(t, map[string]int{"torn": 1}, missed)
	require.Equal(t, map[string]int{"y": 1, "z": 2}, wrong)
}

func TestScorePlaceholders(t *testing.T) {
	planted := []placeholder{
		{"t", "a", "N/A"}, {"t", "n", "-999"}, {"t", "d", "1970-01-01 00:00:00+00:00"}, {"t", "b", "   "}, {"t", "c", "x"},
	}
	missed, extra := scorePlaceholders(planted, []placeholder{
		{"t", "a", "N/A"}, {"t", "n", "-999.0"}, {"t", "d", "1970-01-01 00:00:00+00"}, {"t", "b", ""}, {"t", "c", "X"}, {"u", "c", "x"},
	})
	require.Equal(t, []placeholder{{"t", "c", "x"}}, missed)
	require.Equal(t, []placeholder{{"t", "c", "X"}, {"u", "c", "x"}}, extra)
	require.False(t, sameValue("", "0"))
	require.True(t, sameValue("NaN", "nan"))
	require.True(t, sameValue("1900-01-01", "1900-01-01 00:00:00"))
}

func TestScoreTypes(t *testing.T) {
	known := []typedColumn{{"t", "a", "email", true}, {"t", "b", "city", false}, {"t", "c", "age", true}, {"t", "d", "date", false}}
	types, pii, wrong := scoreTypes(known, []typedColumn{
		{"t", "a", "email", true}, {"t", "b", "country", true}, {"t", "c", "", false}, {"u", "d", "date", false},
	})
	require.Equal(t, score{0.5, 0.25}, types, "a column without a type does not lower the precision")
	require.Equal(t, score{0.5, 0.5}, pii)
	require.Equal(t, []string{`b is city, not "country"`, `c is age, not ""`, `d is date, not ""`}, wrong)
}

func TestDifferenceEqual(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	want := difference{Inserted: n(3), Deleted: n(2), Updated: n(0), Unchanged: n(5), RowsBefore: n(7), RowsAfter: n(8)}
	require.True(t, want.equal(want))
	require.True(t, want.equal(difference{Inserted: n(3), Deleted: n(2)}), "the others are optional")
	require.False(t, want.equal(difference{Inserted: n(3)}))
	require.False(t, want.equal(difference{Inserted: n(3), Deleted: n(2), Updated: n(1)}))
	require.False(t, want.equal(difference{Inserted: n(3), Deleted: n(2), Unchanged: n(6)}))
	want.Updated = n(4)
	require.False(t, want.equal(difference{Inserted: n(3), Deleted: n(2)}), "no number of updated rows is zero")
}

func TestProposedRules(t *testing.T) {
	yes := true
	cases := []struct {
		path, body string
		want       []rule
	}{
		{"/v1/tables/lake/s/t/constraints", `{"constraints":[{"name":"n","expr":"a > 0"},{"expr":"b > 0"}]}`,
			[]rule{{Table: "t", Kind: "check", Expr: "a > 0"}, {Table: "t", Kind: "check", Expr: "b > 0"}}},
		{"/v1/tables/lake/s/t/columns/a%20b/settings", `{"isNullable":false,"isUnique":true}`,
			[]rule{{Table: "t", Kind: "not_null", Columns: []string{"a b"}}, {Table: "t", Kind: "unique", Columns: []string{"a b"}}}},
		{"/v1/tables/lake/s/t/columns/a/settings", `{"isNullable":true,"isPrimaryKey":true}`,
			[]rule{{Table: "t", Kind: "primary_key", Columns: []string{"a"}}}},
		{"/v1/tables/lake/s/t/primary-key", `{"columns":["a","b"]}`,
			[]rule{{Table: "t", Kind: "primary_key", Columns: []string{"a", "b"}}}},
		{"/v1/tables/lake/s/t/columns/a/domain/fixed?enforce_existing=true", `{"values":["x",{"value":"y","label":"Y"}]}`,
			[]rule{{Table: "t", Kind: "list", Columns: []string{"a"}, Values: []string{"x", "y"}}}},
		{"/v1/tables/lake/s/t/columns/a/domain/range", `{"min":"1","inclusive":true}`,
			[]rule{{Table: "t", Kind: "range", Columns: []string{"a"}, Min: "1", Inclusive: &yes}}},
		{"/v1/tables/lake/s/t/rows/merge", `[1]`, nil},
	}
	for _, c := range cases {
		rules, err := proposedRules("t", proposal{Apply: &proposedCall{Path: c.path, Body: []byte(c.body)}})
		require.NoError(t, err, c.path)
		require.Equal(t, c.want, rules, c.path)
	}
	none, err := proposedRules("t", proposal{})
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = proposedRules("t", proposal{Title: "Odd", Apply: &proposedCall{Path: "/x/primary-key", Body: []byte("7")}})
	require.ErrorContains(t, err, `"Odd"`)
}

func TestAnalysisIsValidated(t *testing.T) {
	require.NoError(t, Analysis{Measure: "clean", Rows: 1}.validate())
	require.ErrorContains(t, Analysis{Measure: "cleen", Rows: 1}.validate(), "cleen")
	require.Error(t, Analysis{Measure: "clean"}.validate())
}
