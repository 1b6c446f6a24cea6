package wording_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/wording"
	"github.com/lakewarden/lakewarden/engine/llm"
	"github.com/lakewarden/lakewarden/engine/llm/llmtest"
)

// maxPrompt bounds a prompt in bytes: the evidence and the text around it.
const maxPrompt = 48<<10 + 1<<10

// wide is a result with lists in lists.
type wide struct {
	Columns []column            `json:"columns"`
	Values  []string            `json:"values"`
	Rows    []analysis.CitedRow `json:"rows"`
}

type column struct {
	Name   string         `json:"name"`
	Top    []string       `json:"top"`
	Counts map[string]int `json:"counts"`
}

// large returns an answer about 500 columns with lists of 10,000 items.
func large() analysis.Answer {
	long := strings.Repeat("<é&>", 100)
	var w wide
	a := analysis.Answer{Text: "Text " + strings.Repeat(long, 30)}
	for i := range 500 {
		c := column{Name: fmt.Sprintf("column %03d %s", i, long), Counts: map[string]int{}}
		for j := range 60 {
			c.Top = append(c.Top, fmt.Sprintf("value %d", j))
			c.Counts[fmt.Sprintf("count %d %s", j, long[:60])] = j
		}
		w.Columns = append(w.Columns, c)
	}
	for i := range 10_000 {
		value := fmt.Sprintf("value %d", i)
		w.Values = append(w.Values, value)
		a.References = append(a.References, analysis.Reference{Row: i + 1, Column: "c", Value: &value})
		a.Proposals = append(a.Proposals, analysis.Proposal{Title: value, Columns: w.Values[:i%10]})
		a.Warnings = append(a.Warnings, value)
		if i < 200 {
			row := analysis.CitedRow{Row: i + 1, Values: map[string]*string{}}
			for j := range 500 {
				row.Values[fmt.Sprintf("column %03d", j)] = &value
			}
			w.Rows = append(w.Rows, row)
		}
	}
	a.Result = w
	return a
}

func TestPromptsAreBoundedAndDropLaterItems(t *testing.T) {
	t.Parallel()
	a := large()
	families(t, func(t *testing.T, family llm.Family) {
		s := llmtest.New(t, family)
		s.Script(document("Fine [[10000:c]]."))
		text, err := write(t, s, a)
		require.NoError(t, err)
		require.Equal(t, "Fine [[10000:c]].", text.Text)
		prompt := s.Requests()[0].Prompt
		require.LessOrEqual(t, len(prompt), maxPrompt)
		e := evidence(t, prompt)
		require.Greater(t, e["omittedItems"], 10_000.0)
		references := e["references"].([]any)
		require.NotEmpty(t, references)
		require.Equal(t, "[[1:c]]", references[0].(map[string]any)["tag"], "earlier items remain")
		columns := e["result"].(map[string]any)["columns"].([]any)
		require.NotEmpty(t, columns)
		require.Contains(t, columns[0].(map[string]any)["name"], "column 000")
	})
}

func TestEqualAnswersHaveEqualPrompts(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t, llm.FamilyB)
	s.Script(document("Fine."))
	for range 2 {
		_, err := write(t, s, large())
		require.NoError(t, err)
	}
	require.Len(t, s.Requests(), 2)
	require.Equal(t, s.Requests()[0].Prompt, s.Requests()[1].Prompt)
}

func TestResultsThatNoCutMakesSmallAreLeftOut(t *testing.T) {
	t.Parallel()
	level := map[string]any{"leaf": strings.Repeat("x", 40)}
	for range 2 {
		next := map[string]any{}
		for i := range 40 {
			next[fmt.Sprintf("member %d", i)] = level
		}
		level = next
	}
	s := llmtest.New(t, llm.FamilyA)
	s.Script(document("Fine."))
	a := answer("v")
	a.Result = level
	_, err := write(t, s, a)
	require.NoError(t, err)
	prompt := s.Requests()[0].Prompt
	require.LessOrEqual(t, len(prompt), maxPrompt)
	e := evidence(t, prompt)
	require.Nil(t, e["result"])
	require.NotEmpty(t, e["references"])
}

func TestSampleValuesAreFewAndShort(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t, llm.FamilyA)
	s.Script(document("Fine."))
	var values []string
	var rows []analysis.CitedRow
	secret := strings.Repeat("v", 200) + "SECRET"
	for i := range 40 {
		values = append(values, secret)
		rows = append(rows, analysis.CitedRow{Row: i + 1, Values: map[string]*string{"c": &secret}})
	}
	a := answer("v")
	a.Result = wide{Values: values, Rows: rows}
	_, err := write(t, s, a)
	require.NoError(t, err)
	e := evidence(t, s.Requests()[0].Prompt)
	shown := e["result"].(map[string]any)
	require.Len(t, shown["values"], 10)
	require.Len(t, shown["rows"], 10)
	require.Equal(t, 60.0, e["omittedItems"])
	require.NotContains(t, s.Requests()[0].Prompt, "SECRET")
}

func TestAnAnswerThatDoesNotEncodeIsADefect(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t, llm.FamilyA)
	a := answer("v")
	a.Result = math.NaN()
	_, err := write(t, s, a)
	require.Error(t, err)
	require.NotErrorIs(t, err, llm.ErrMalformed)
	require.Empty(t, s.Requests())
}

func TestEveryActionHasASystemPromptOfItsOwn(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t, llm.FamilyA)
	s.Script(document("Fine."))
	seen := map[string]bool{}
	for _, action := range analysis.Actions() {
		_, err := wording.Write(t.Context(), s.Client(t, nil), "model-1", action, answer("v"))
		require.NoError(t, err)
	}
	for _, r := range s.Requests() {
		require.NotContains(t, r.System, "about .")
		seen[r.System] = true
	}
	require.Len(t, seen, len(analysis.Actions()))
}
