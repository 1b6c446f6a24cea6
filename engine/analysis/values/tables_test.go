package values_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/values"
)

// list is the SQL of a column of texts, of which "\x00" is NULL, cast to a type.
func list(name, kind string, texts []string) string {
	items := make([]string, len(texts))
	for i, text := range texts {
		items[i] = engine.QuoteString(text)
		if text == "\x00" {
			items[i] = "NULL"
		}
	}
	return "unnest([" + strings.Join(items, ", ") + "]::" + kind + "[]) AS " + engine.QuoteIdent(name)
}

// source returns a source of random numbers of a test.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 19)) }

// repeated returns n texts, the i-th of which is made by text(i).
func repeated(n int, text func(int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = text(i)
	}
	return out
}

// pick returns n texts of a list with falling frequencies.
func pick(r *rand.Rand, n int, from []string) []string {
	return repeated(n, func(int) string { return from[min(r.IntN(len(from)), r.IntN(len(from)))] })
}

var (
	firstNames = strings.Fields(`James Mary Robert Patricia John Jennifer Michael Linda David Elizabeth William Barbara Richard Susan
		Joseph Jessica Thomas Sarah Charles Karen Christopher Lisa Daniel Nancy Matthew Betty Anthony Margaret Mark Sandra Donald Ashley
		Steven Kimberly Paul Emily Andrew Donna Joshua Michelle Kenneth Carol Kevin Amanda Brian Dorothy George Melissa Edward Deborah
		Stephen Stephanie Ronald Rebecca Timothy Sharon Jason Laura Jeffrey Cynthia Ryan Kathleen Jacob Amy Gary Angela Nicholas Shirley
		Eric Anna Jonathan Brenda Stephan Pamela Larry Emma Justin Nicole Scott Helen Brandon Samantha Benjamin Katherine Samuel Christine
		Gregory Debra Frank Rachel Alexander Carolyn Raymond Janet Patrick Catherine Jack Maria Dennis Heather Jerry Diane Jon Sara Ann Anne
		Hanna Hannah Maya Maia Marc Eric Erik Carl Karl Kristin Kristen Brain Alan Allan Allen Philip Phillip Geoffrey Sean Shawn`)
	lastNames = strings.Fields(`Smith Johnson Williams Brown Jones Garcia Miller Davis Rodriguez Martinez Hernandez Lopez Gonzalez Wilson
		Anderson Thomas Taylor Moore Jackson Martin Lee Perez Thompson White Harris Sanchez Clark Ramirez Lewis Robinson Walker Young Allen
		King Wright Scott Torres Nguyen Hill Flores Green Adams Nelson Baker Hall Rivera Campbell Mitchell Carter Roberts Gomez Phillips
		Evans Turner Diaz Parker Cruz Edwards Collins Reyes Stewart Morris Morales Murphy Cook Rogers Gutierrez Ortiz Morgan Cooper Peterson
		Bailey Reed Kelly Howard Ramos Kim Cox Ward Richardson Watson Brooks Chavez Wood James Bennett Gray Mendoza Ruiz Hughes Price Alvarez
		Castillo Sanders Patel Myers Long Ross Foster Jimenez Johnston Andersen Petersen Smyth Reid Philips Stuart Fernandez Gonzales Clarke
		Mathews Matthews Meyer Meier Maier Schmidt Schmitt Schneider Fischer Fisher Hansen Hanson Larsen Larson Olsen Olson Nilsen Nielsen`)
	cities = []string{"Berlin", "Hamburg", "Munich", "Cologne", "Frankfurt", "Stuttgart", "Leipzig", "Dortmund", "Essen", "Bremen",
		"Dresden", "Hanover", "Nuremberg", "Duisburg", "Bochum", "Wuppertal", "Bielefeld", "Bonn", "Mannheim", "Karlsruhe", "Augsburg",
		"Wiesbaden", "Mainz", "Rostock", "Kassel", "Hagen", "Potsdam", "Freiburg", "Freising", "Freital", "Bad Homburg", "Bad Hersfeld"}
	countryCodes = strings.Fields("NA ZA BW ZW ZM AO MZ DE FR GB US CA MX BR AR CL PE CN JP KR IN AU NZ NO SE FI DK NL BE")
)

// all are the analyses of the package.
var all = map[string]func(*testing.T, analysis.Input) analysis.Answer{
	"fix_nulls": func(t *testing.T, in analysis.Input) analysis.Answer {
		a, err := values.FixNulls(t.Context(), in)
		require.NoError(t, err)
		return a
	},
	"standardize_values": func(t *testing.T, in analysis.Input) analysis.Answer {
		a, err := values.StandardizeValues(t.Context(), in)
		require.NoError(t, err)
		return a
	},
	"suggest_domain": func(t *testing.T, in analysis.Input) analysis.Answer {
		a, err := values.SuggestDomain(t.Context(), in)
		require.NoError(t, err)
		return a
	},
}

// verify checks what holds for every answer: cited cells are references, and the effects of
// proposals are what statements count.
func verify(t *testing.T, in analysis.Input, a analysis.Answer) {
	t.Helper()
	known := map[string]bool{}
	for _, r := range a.References {
		require.Positive(t, r.Row)
		known[r.Tag()] = true
	}
	for rest := a.Text; strings.Contains(rest, "[["); {
		_, after, _ := strings.Cut(rest, "[[")
		tag, more, _ := strings.Cut(after, "]]")
		rest = more
		require.True(t, known["[["+tag+"]]"], tag)
	}
	require.LessOrEqual(t, len(a.Proposals), in.Limit)
	for _, p := range a.Proposals {
		require.NotEmpty(t, p.Title)
		switch change := p.Change.(type) {
		case analysis.UpdateRows:
			n, err := in.Rows(t.Context(), change.Where, in.Table.Columns...)
			require.NoError(t, err, change.Where)
			require.Equal(t, n, *p.Effect.Rows, p.Title)
			require.Positive(t, n, p.Title)
			for column, set := range change.Set {
				_, err := in.Rows(t.Context(), "("+set+") IS NULL OR "+engine.QuoteIdent(column)+" IS NOT NULL", in.Table.Columns...)
				require.NoError(t, err, set)
			}
		case analysis.AddCheck:
			n, err := in.Rows(t.Context(), "NOT coalesce("+change.Expr+", FALSE)", in.Table.Columns...)
			require.NoError(t, err, change.Expr)
			require.Equal(t, n, *p.Effect.Violations, p.Title)
		default:
			require.NotNil(t, p.Effect.Violations, p.Title)
		}
	}
}

func TestStrangeTablesAreServed(t *testing.T) {
	for name, sql := range map[string]string{
		"no rows":    "SELECT range AS id, 'x' AS a, 1.5::DOUBLE AS f, DATE '2020-01-01' AS d FROM range(0)",
		"one row":    "SELECT 1 AS id, 'x' AS a, DATE '2020-01-01' AS d",
		"only NULLs": "SELECT NULL::VARCHAR AS a, NULL::DOUBLE AS b, NULL::DATE AS c, NULL::INTEGER[] AS l FROM range(50)",
		"names": `SELECT range AS n, 'a' || range % 3 AS v, range % 4 AS x, CASE WHEN range % 9 = 0 THEN 'n/a' ELSE 'b' || range END AS "a""b",
			range % 5 AS "select", 'é' || range % 7 AS "größe 🙂", CASE WHEN range % 5 = 0 THEN NULL ELSE range % 4 END AS "k", range % 4 AS "rows",
			'p' || (range % 3) AS input, range % 2 AS g FROM range(300)`,
		"odd values": `SELECT CASE range % 4 WHEN 0 THEN 'infinity'::DATE WHEN 1 THEN '-infinity'::DATE
				ELSE DATE '2020-01-01' + range::INT END AS d,
			CASE range % 3 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 'inf'::DOUBLE ELSE range END AS f,
			CASE range % 3 WHEN 0 THEN 'infinity' WHEN 1 THEN '2020-01-01' ELSE '1e400' END AS t,
			'a' || chr(8238) || '[[1:d]]' || chr(10) || '''; DROP TABLE t; --' || range % 3 AS hostile,
			(range / 7)::DECIMAL(38, 10) AS dec, range::UTINYINT AS u, TIMESTAMPTZ '2020-01-01 00:00:00+02' AS tz,
			TIME '10:00:00' AS tm, 'ab'::BLOB AS raw FROM range(200)`,
		"long texts": `SELECT repeat('x', 3000000) || range AS a, CASE WHEN range % 2 = 0 THEN repeat('y', 300) ELSE 'N/A' END AS b
			FROM range(8)`,
	} {
		for action, run := range all {
			lake := analysistest.New(t, sql)
			in := lake.Input(nil)
			a := run(t, in)
			require.NotEmpty(t, a.Text, "%s %s", name, action)
			require.Less(t, size(t, a), 200<<10, "%s %s", name, action)
			verify(t, in, a)
		}
	}
}

func TestWideTablesAreServed(t *testing.T) {
	columns := make([]string, analysistest.WideColumns())
	for i := range columns {
		columns[i] = fmt.Sprintf("range %% %d AS c%d", 2+i%50, i)
		if i%5 == 0 {
			columns[i] = fmt.Sprintf("CASE WHEN range %% 11 = 0 THEN 'n/a' WHEN range %% 7 = 0 THEN 'Value %d' ELSE 'value %d' END AS c%d", i, i, i)
		}
	}
	lake := analysistest.New(t, "SELECT "+strings.Join(columns, ", ")+" FROM range(60)")
	for action, run := range all {
		in := lake.Input(func(in *analysis.Input) { in.Columns = in.Columns[len(in.Columns)/2:][:min(30, len(in.Columns)/2)] })
		a := run(t, in)
		require.Less(t, size(t, a), 200<<10, action)
		verify(t, in, a)
	}
}

func TestAnswersDoNotDependOnTheOrderOfRows(t *testing.T) {
	const rows = `SELECT range AS id, CASE range % 50 WHEN 1 THEN 'N/A' WHEN 2 THEN 'new york' WHEN 3 THEN 'York, New'
		ELSE 'New York' END AS town,
		CASE WHEN range % 40 = 0 THEN -999 ELSE range % 90 END AS n, CASE WHEN range % 8 = 0 THEN NULL ELSE 'c' || range % 5 END AS city,
		'z' || range % 10 AS zip, 'AB-' || lpad((range % 90)::VARCHAR, 3, '0') AS code FROM range(2000)`
	for action, run := range all {
		first := run(t, analysistest.New(t, "SELECT * FROM ("+rows+") ORDER BY id").Input(nil))
		second := run(t, analysistest.New(t, "SELECT * FROM ("+rows+") ORDER BY hash(id)").Input(nil))
		require.Equal(t, first, second, action)
	}
}

func TestConditionsRestrictTheAnalysis(t *testing.T) {
	lake := analysistest.New(t, `SELECT range AS id, CASE WHEN range % 10 = 0 THEN 'N/A' ELSE 'Name ' || range END AS name FROM range(1000)`)
	in := lake.Input(func(in *analysis.Input) { in.Table.Where = "id % 10 > 0 -- no placeholders" })
	a, err := values.FixNulls(t.Context(), in)
	require.NoError(t, err)
	require.Empty(t, a.Result.(values.NullsResult).Columns)
	require.Empty(t, a.Proposals)
}
