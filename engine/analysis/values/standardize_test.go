package values_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
	"github.com/lakewarden/lakewarden/engine/analysis/values"
)

// clusters runs StandardizeValues and returns the canonical form of each other form of a column.
func clusters(t *testing.T, in analysis.Input) (map[string]string, analysis.Answer) {
	t.Helper()
	a, err := values.StandardizeValues(t.Context(), in)
	require.NoError(t, err)
	verify(t, in, a)
	found := map[string]string{}
	for _, c := range a.Result.(values.FormsResult).Columns {
		for _, cluster := range c.Clusters {
			require.Equal(t, cluster.Canonical, cluster.Variants[0].Value)
			rows := int64(0)
			for i, v := range cluster.Variants {
				rows += v.Rows
				if i > 0 {
					found[v.Value] = cluster.Canonical
				}
			}
			require.Equal(t, rows, cluster.Rows)
		}
	}
	return found, a
}

// many returns an input whose limit lets all findings through.
func many(lake *analysistest.Lake) analysis.Input {
	return lake.Input(func(in *analysis.Input) { in.Limit = 10_000 })
}

// times repeats texts.
func times(n int, texts ...string) []string {
	var out []string
	for range n {
		out = append(out, texts...)
	}
	return out
}

func TestFormsOfOneValueAreFound(t *testing.T) {
	for canonical, variants := range map[string][]string{
		"New York": {"new york", "NEW YORK", " New York", "New  York", "New York ", "New-York", "NewYork", "New\u00a0York",
			"york, new"},
		"São Paulo":               {"Sao Paulo", "SÃO PAULO", "sao paulo.", "Sao-Paulo"},
		"Deutsche Telekom AG":     {"Deutsche Telekom, AG", "AG Deutsche Telekom", "deutsche telekom ag", "Deutsche  Telekom A.G."},
		"Krzysztof":               {"Kryzsztof", "Krzystof"},
		"Mississippi":             {"Missisippi", "Mississipi", "Misissippi", "Missisipi"},
		"Massachusetts":           {"Massachussets", "Massachusets", "Massachusettes", "Masachusetts"},
		"Philadelphia":            {"Philadelfia", "Philadelpia", "Phialdelphia"},
		"Pneumonia":               {"Pnuemonia", "Pneumonía", "Pneunomia"},
		"International Business":  {"Internatoinal Business", "International Busines", "INTERNATIONAL-BUSINESS"},
		"Smith, John":             {"John Smith", "Smith,John"},
		"AT&T":                    {"AT & T", "at&t"},
		"Coca-Cola":               {"Coca Cola", "CocaCola", "coca cola"},
		"male":                    {"Male", "MALE", " male"},
		"Straße":                  {"Strasse", "STRASSE"},
		"Purchase Order Received": {"Purchase order received", "Purchase Order Recieved", "Received: Purchase Order"},
	} {
		texts := times(200, canonical)
		for _, v := range variants {
			texts = append(texts, times(3, v)...)
		}
		texts = append(texts, times(180, "Chicago", "Boston", "Approved")...)
		lake := analysistest.New(t, "SELECT "+list("c", "VARCHAR", texts))
		found, a := clusters(t, many(lake))
		for _, v := range variants {
			require.Equal(t, canonical, found[v], "%q of %q", v, canonical)
		}
		require.Len(t, a.Proposals, 1)
	}
}

func TestValuesThatDifferStayApart(t *testing.T) {
	for _, group := range [][]string{
		{"AA1", "AA2", "AA3", "AB1"}, {"East", "West", "Seat", "Eats"}, {"Model A", "Model B", "Model AA", "Model AAA"},
		{"A", "AA", "AAA", "BBB", "BB"},
		{"A+", "A", "A-", "B+", "B-"}, {"0-", "0+", "AB-", "AB+", "A-", "A+"}, {"C", "C++", "C#"}, {"Version 1.5", "Version 15", "Version 1 5"},
		{"Type I", "Type II", "Type III", "Type IV"}, {"JFK LAX", "LAX JFK"}, {"JFK to LAX", "LAX to JFK"}, {"JFK-LAX", "LAX-JFK"},
		{"Thomas James", "James Thomas"}, {"Austria", "Australia"}, {"Niger", "Nigeria"}, {"Slovakia", "Slovenia"}, {"Iran", "Iraq"},
		{"Mali", "Malta", "Malawi"}, {"approved", "unapproved"}, {"active", "inactive"}, {"complete", "incomplete"}, {"Northeast", "Northwest"},
		{"Monday", "Sunday"}, {"Male", "Female"}, {"Employer", "Employee"}, {"Trainer", "Trainee"}, {"10.5 kg", "105 kg", "10,5 kg"},
		{"5%", "5", "50%"}, {"< 10 km", "> 10 km"}, {"Ann Alee", "Anna Lee"}, {"Conservation", "Conversation"}, {"Mexico", "New Mexico"},
		{"a.b@example.org", "ab@example.org"}, {"Gambia", "Zambia"}, {"2020-01-01", "2020-10-01"}, {"+49 30 123", "+49 301 23"},
		{"Charleston", "Charlestown"}, {"Maria", "Mario"}, {"Room 12", "Room 21"}, {"12 Main Street", "21 Main Street"}, {"Walla", "Walla Walla"},
		{"N3GLAA", "N3LGAA"}, {"Level One", "Level Two"}, {"Arnold", "Ronald"}, {"Brian", "Brain"}, {"Marital", "Martial"},
	} {
		var texts []string
		for i, text := range group {
			texts = append(texts, times(60-i, text)...)
		}
		lake := analysistest.New(t, "SELECT "+list("c", "VARCHAR", append(texts, times(50, "Something else", "Another value")...)))
		found, a := clusters(t, many(lake))
		require.Empty(t, found, group)
		require.Empty(t, a.Proposals)
	}
}

func TestRareNamesAreNotMisspeltFrequentOnes(t *testing.T) {
	r := source(5)
	const rows = 20_000
	first := pick(r, rows, firstNames)
	last := pick(r, rows, lastNames)
	for i := range 300 { // a long tail of rare names
		last[i*7] = []string{"Abo", "Bax", "Cux", "Dov", "Elu", "Fay", "Gum", "Hoj", "Ilk", "Juv"}[i%10] +
			strings.ToLower(lastNames[i%len(lastNames)])
	}
	full := repeated(rows, func(i int) string { return first[i] + " " + last[i] })
	for name, texts := range map[string][]string{"first names": first, "last names": last, "full names": full} {
		lake := analysistest.New(t, "SELECT "+list("c", "VARCHAR", texts))
		found, _ := clusters(t, many(lake))
		require.Empty(t, found, name)
	}
}

// keysOfOpenRefine are the keys of OpenRefine's clustering.
var keysOfOpenRefine = map[string]func(string) string{
	"fingerprint": similarity.Fingerprint,
	"2-gram":      func(s string) string { return similarity.NGramFingerprint(s, 2) },
	"1-gram":      func(s string) string { return similarity.NGramFingerprint(s, 1) },
}

func TestClustersOfKeysAreFound(t *testing.T) {
	r := source(6)
	change := []func(string) string{
		strings.ToUpper, strings.ToLower, func(s string) string { return s + " " },
		func(s string) string { return strings.ReplaceAll(s, " ", "  ") },
		func(s string) string { return strings.ReplaceAll(s, " ", "-") }, func(s string) string { return strings.ReplaceAll(s, " ", "") },
		func(s string) string { return s + "." },
		func(s string) string { words := strings.Fields(s); return words[1] + ", " + words[0] },
		func(s string) string { at := 2 + r.IntN(4); return s[:at] + s[at-1:at] + s[at:] },
		func(s string) string { at := 2 + r.IntN(3); return s[:at] + s[at+1:at+2] + s[at:at+1] + s[at+2:] },
	}
	var texts []string
	joined := map[string]string{}
	for i := range 150 {
		name := lastNames[i%len(lastNames)] + "berg " + []string{"Limited", "Partners", "Holding", "Company"}[i%4]
		texts = append(texts, times(30, name)...)
		for range 3 {
			variant := change[r.IntN(len(change))](name)
			if variant != name {
				joined[variant] = name
				texts = append(texts, variant)
			}
		}
	}
	lake := analysistest.New(t, "SELECT "+list("c", "VARCHAR", texts))
	found, _ := clusters(t, many(lake))
	for variant, name := range joined {
		for key, of := range keysOfOpenRefine {
			if of(variant) == of(name) {
				require.Equal(t, name, found[variant], "%q of %q by %s", variant, name, key)
			}
		}
	}
	for variant, name := range found {
		require.Equal(t, joined[variant], name, variant)
	}
}

func TestTheCanonicalFormIsTheMostFrequentThenTheBestWritten(t *testing.T) {
	lake := analysistest.New(t, "SELECT "+list("c", "VARCHAR", slices.Concat(times(5, "NEW YORK", "New York", "new york", "New  York"),
		times(9, "berlin"), times(4, "Berlin"), times(8, "Rome")))+", 1 AS k")
	found, a := clusters(t, many(lake))
	require.Equal(t, map[string]string{"NEW YORK": "New York", "new york": "New York", "New  York": "New York", "Berlin": "berlin"}, found)
	change := a.Proposals[0].Change.(analysis.UpdateRows)
	require.Equal(t, map[string]string{"c": "'New York'"}, change.Set)
	require.Equal(t, int64(15), *a.Proposals[0].Effect.Rows)
}

func TestManyClustersBecomeOneProposalForTheColumn(t *testing.T) {
	var texts []string
	for i, name := range lastNames[:60] {
		texts = append(texts, times(20+i, name+" & Sons")...)
		texts = append(texts, strings.ToUpper(name)+" & SONS", name+" &  Sons")
	}
	lake := analysistest.New(t, "SELECT "+list("c", "VARCHAR", texts))
	in := lake.Input(nil)
	found, a := clusters(t, in)
	require.Len(t, found, 2*in.Limit)
	result := a.Result.(values.FormsResult)
	require.Equal(t, 60, result.Clusters)
	require.Len(t, a.Warnings, 1)
	require.Len(t, a.Proposals, 1)
	change := a.Proposals[0].Change.(analysis.UpdateRows)
	require.Equal(t, int64(120), *a.Proposals[0].Effect.Rows)
	n := lake.Count("SELECT count(DISTINCT coalesce(" + change.Set["c"] + ", c)) FROM lake.sales.t")
	require.Equal(t, int64(60), n)
}

func TestMaskedColumnsAndKeysAreNotChanged(t *testing.T) {
	texts := append(times(20, "Alpha", "Beta"), "ALPHA")
	for name, change := range map[string]func(*analysis.Column){
		"masked": func(c *analysis.Column) { c.Masked = true }, "key": func(c *analysis.Column) { c.Key = true },
		"unique": func(c *analysis.Column) { c.Unique = true },
	} {
		lake := analysistest.New(t, "SELECT "+list("c", "VARCHAR", texts))
		_, a := clusters(t, lake.Input(func(in *analysis.Input) { change(&in.Columns[0]) }))
		require.Empty(t, a.Proposals, name)
	}
	lake := analysistest.New(t, "SELECT "+list("c", "VARCHAR", texts))
	_, a := clusters(t, lake.Input(func(in *analysis.Input) { in.Columns[0].Domain = "fixed" }))
	require.Contains(t, a.Proposals[0].Title, "domain")
}

func TestIdentifiersAreNotClustered(t *testing.T) {
	texts := repeated(500, func(i int) string { return fmt.Sprintf("ab-%c%d", 'A'+rune(i%26), i) })
	lake := analysistest.New(t, "SELECT "+list("c", "VARCHAR", append(texts, strings.ToUpper(texts[3]))))
	_, a := clusters(t, lake.Input(nil))
	require.Zero(t, a.Result.(values.FormsResult).Analysed)
}
