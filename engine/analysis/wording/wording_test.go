package wording_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/wording"
	"github.com/lakewarden/lakewarden/engine/llm"
	"github.com/lakewarden/lakewarden/engine/llm/llmtest"
)

// families runs a test for each family.
func families(t *testing.T, test func(t *testing.T, family llm.Family)) {
	t.Helper()
	for _, f := range llm.Families() {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			test(t, f)
		})
	}
}

// result is a result of an analysis.
type result struct {
	Columns []string            `json:"columns"`
	Rows    []analysis.CitedRow `json:"rows"`
}

// answer returns an answer that cites two cells with a value.
func answer(value string) analysis.Answer {
	rows := []analysis.CitedRow{{Row: 1, Values: map[string]*string{"city": &value}}, {Row: 2, Values: map[string]*string{"city": nil}}}
	return analysis.Answer{
		Result: result{Columns: []string{"city"}, Rows: rows},
		Text:   "One of 2 rows has the odd city " + value + " [[1:city]].", Confidence: 0.75,
		Proposals: []analysis.Proposal{{
			Title: "Set city to NULL in 1 row.", Columns: []string{"city"}, Confidence: 0.5,
			Change: analysis.UpdateRows{Where: "secret_condition = 1", Set: map[string]string{"city": "NULL"}},
			Effect: analysis.Effect{Rows: analysis.Number(1)},
		}},
		References: []analysis.Reference{{Row: 1, Column: "city", Value: &value}, {Row: 2, Column: "city"}},
		Warnings:   []string{},
	}
}

func document(text string) llmtest.Answer {
	encoded, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err)
	}
	return llmtest.Document(string(encoded))
}

func write(t *testing.T, s *llmtest.Server, a analysis.Answer) (wording.Text, error) {
	t.Helper()
	return wording.Write(t.Context(), s.Client(t, nil), "model-1", analysis.DetectAnomalies, a)
}

func TestAModelWordsAnAnswer(t *testing.T) {
	t.Parallel()
	families(t, func(t *testing.T, family llm.Family) {
		s := llmtest.New(t, family)
		s.Script(document("One city is odd [[1:city]]."))
		text, err := write(t, s, answer("Zürich"))
		require.NoError(t, err)
		require.Len(t, s.Requests(), 1)
		r := s.Requests()[0]
		hash := sha256.Sum256([]byte(r.System + r.Prompt))
		require.Equal(t, wording.Text{
			Text: "One city is odd [[1:city]].", InputTokens: llmtest.InputTokens, OutputTokens: llmtest.OutputTokens,
			PromptHash: hex.EncodeToString(hash[:]),
		}, text)

		e := evidence(t, r.Prompt)
		require.Equal(t, "detect_anomalies", e["action"])
		require.Contains(t, e["summary"], "Zürich")
		require.Equal(t, []any{map[string]any{"title": "Set city to NULL in 1 row.", "columns": []any{"city"}, "confidence": 0.5, "rows": 1.0}},
			e["proposals"])
		require.Equal(t, []any{
			map[string]any{"tag": "[[1:city]]", "value": "Zürich"}, map[string]any{"tag": "[[2:city]]", "value": nil},
		}, e["references"])
		require.NotContains(t, e, "omittedItems")
		require.NotContains(t, r.Prompt, "secret_condition", "changes stay here")
	})
}

// evidence returns the data of a prompt.
func evidence(t *testing.T, prompt string) map[string]any {
	t.Helper()
	lines := strings.Split(prompt, "\n")
	require.Len(t, lines, 7, "the data are one line between fences")
	name := strings.Trim(lines[2], "<>")
	require.Equal(t, "</"+name+">", lines[4])
	require.Equal(t, 2, strings.Count(prompt, "<"+name+">"), "in the introduction and before the data")
	var e map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[3]), &e))
	return e
}

func TestAnInvalidReplyIsRepairedOnce(t *testing.T) {
	t.Parallel()
	invalid := map[string]llmtest.Answer{
		"not JSON":         llmtest.Document("Here is the text"),
		"cut":              llmtest.CutShort(`{"text":"a`),
		"refusal":          llmtest.Refusal(),
		"unknown member":   llmtest.Document(`{"text":"a","ranking":[1]}`),
		"other case":       llmtest.Document(`{"Text":"a"}`),
		"duplicate member": llmtest.Document(`{"text":"a","text":"b"}`),
		"other type":       llmtest.Document(`{"text":["a"]}`),
		"null":             llmtest.Document(`{"text":null}`),
		"a list":           llmtest.Document(`[{"text":"a"}]`),
		"no text":          llmtest.Document(`{}`),
		"empty":            document(" \n\u200b"),
		"only tags":        document("[[9:x]]"),
		"long":             document(strings.Repeat("é", 5000)),
		"invalid UTF-8":    llmtest.Document(`{"text":"\ud800"}`),
	}
	for name, answered := range invalid {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			families(t, func(t *testing.T, family llm.Family) {
				s := llmtest.New(t, family)
				s.Script(answered, document("Fine."))
				text, err := write(t, s, answer("a"))
				require.NoError(t, err)
				require.Equal(t, "Fine.", text.Text)
				require.Equal(t, 1, text.Repairs)
				require.Equal(t, int64(2*llmtest.InputTokens), text.InputTokens)
				require.Equal(t, int64(2*llmtest.OutputTokens), text.OutputTokens)
				requests := s.Requests()
				require.Len(t, requests, 2)
				require.Equal(t, requests[0].System, requests[1].System)
				added, ok := strings.CutPrefix(requests[1].Prompt, requests[0].Prompt)
				require.True(t, ok)
				require.Contains(t, added, "refused")
				hash := sha256.Sum256([]byte(requests[0].System + requests[0].Prompt))
				require.Equal(t, hex.EncodeToString(hash[:]), text.PromptHash, "of the first request")

				s = llmtest.New(t, family)
				s.Script(answered)
				text, err = write(t, s, answer("a"))
				require.ErrorIs(t, err, llm.ErrMalformed)
				require.Len(t, s.Requests(), 2, "one repair only")
				require.Empty(t, text.Text)
				require.Equal(t, 1, text.Repairs)
				require.Equal(t, int64(2*llmtest.InputTokens), text.InputTokens)
			})
		})
	}
}

func TestFailuresOfProvidersAreNotRepaired(t *testing.T) {
	t.Parallel()
	for want, answered := range map[error]llmtest.Answer{
		llm.ErrRejected: llmtest.Status(401, nil), llm.ErrLimited: llmtest.Status(429, map[string][]string{"Retry-After": {"60"}}),
		llm.ErrUnavailable: llmtest.Redirect("http://127.0.0.1:1/"), llm.ErrMalformed: llmtest.Garbage(),
	} {
		t.Run(want.Error(), func(t *testing.T) {
			t.Parallel()
			families(t, func(t *testing.T, family llm.Family) {
				s := llmtest.New(t, family)
				s.Script(answered)
				text, err := write(t, s, answer("a secret value"))
				require.ErrorIs(t, err, want)
				require.NotContains(t, err.Error(), "secret")
				require.Len(t, s.Requests(), 1)
				require.Len(t, text.PromptHash, 64)
				require.Zero(t, text.Repairs)
			})
		})
	}
}

func TestControlCharactersAreRemoved(t *testing.T) {
	t.Parallel()
	s := llmtest.New(t, llm.FamilyA)
	s.Script(document(" a\x00\x1b[31mb\r\nc\td\u202ee\U000e0041\ufefff\u2028g\u200dh "))
	text, err := write(t, s, answer("a"))
	require.NoError(t, err)
	require.Equal(t, "a[31mb\nc def\ng\u200dh", text.Text)
}

func TestInventedReferencesAreDroppedAndCounted(t *testing.T) {
	t.Parallel()
	cases := []struct {
		text, want string
		dropped    int
	}{
		{"Odd [[1:city]] and [[2:city]].", "Odd [[1:city]] and [[2:city]].", 0},
		{"Odd [[3:city]].", "Odd.", 1},
		{"Odd [[1:name]], [[01:city]], [[1:City]], [[ 1:city]] and [[x]].", "Odd,,, and.", 5},
		{"[[1:city]][[9:z]][[2:city]]", "[[1:city]][[2:city]]", 1},
		{"a [[[[9:z]]1:secret]] b", "a1:secret]] b", 1},
		{"a [[[9:z]][2:city]] b", "a[2:city]] b", 1},
		{"a [[[1:city]]", "a", 1},
		{"a [[2:city]][[[1:city]]b", "a [[2:city]]b", 1},
		{"a [[ never closed", "a [ never closed", 0},
		{"a [[over\nlines]]", "a [over\nlines]]", 0},
		{"a[1] = [b]", "a[1] = [b]", 0},
		{"[[[[[[[[", "[", 0},
		{"quoted [[1:odd ]] name]] end", "quoted [[1:odd ]] name]] end", 0},
	}
	for _, c := range cases {
		families(t, func(t *testing.T, family llm.Family) {
			s := llmtest.New(t, family)
			s.Script(document(c.text))
			a := answer("v")
			a.References = append(a.References, analysis.Reference{Row: 1, Column: "odd ]] name"})
			text, err := write(t, s, a)
			require.NoError(t, err)
			require.Equal(t, c.want, text.Text)
			require.Equal(t, c.dropped, text.DroppedReferences, c.text)
		})
	}
}
