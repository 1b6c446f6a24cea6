package hostile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// Keys of rows to delete are values, whatever they look like, and answers show neither hidden
// rows nor the inside of the server.
func TestHostileKeysOfRowsToDeleteAreOnlyValues(t *testing.T) {
	t.Parallel()
	s, _, _ := newHostile(t, nil)
	path := s.TablePath("t")
	writer := s.Member("mal@acme.example", "builder", map[string]string{"tenant": "a"})
	own := s.Create("own", nil, harness.Col("v", "string", "isPrimaryKey", true), harness.Col("n", "long"))
	s.Policy("own", "v", harness.Everyone)
	before := s.Admin.Count(s.Schema + ".t")
	texts := []string{`'`, `"`, `\`, `' OR '1'='1`, `'); DELETE FROM t; --`, `x' UNION SELECT secret FROM ` + s.Schema + `.t --`,
		`(SELECT max(secret) FROM ` + s.Schema + `.t)`, "a\nb", "\u0000", strings.Repeat("'", 1000), `NULL`, `true`, `../t`}
	check := func(to string, body any, header ...string) harness.Reply {
		t.Helper()
		r := writer.Call("POST", to+"/rows/merge", body, header...)
		require.Less(t, r.Status, 500, "%s", r.Body)
		text := string(r.Body)
		for _, sent := range texts {
			text = strings.ReplaceAll(text, sent, "")
		}
		require.NotContains(t, text, harness.Canary)
		if r.Status >= 400 {
			require.NotRegexp(t, engineWords, text)
			require.NotContains(t, text, s.Config.DataDir)
		}
		return r
	}
	for _, text := range texts {
		writer.Write(own+"/rows", map[string]any{"rows": []any{map[string]any{"v": text}, map[string]any{"v": text + "x"}}})
		r := check(own, map[string]any{"rows": []any{}, "delete": []any{map[string]any{"v": text}}})
		require.Equal(t, 1.0, r.JSON(t)["deleted"], "%s", r.Body)
		require.Equal(t, 1.0, writer.Count(s.Schema+".own"))
		check(own, map[string]any{"rows": []any{}, "delete": []any{map[string]any{text: text}}})
		check(own, map[string]any{"rows": []any{}, "delete": []any{map[string]any{"v": text}}, "on": []any{text}})
		for _, column := range []string{"secret", "tenant"} {
			check(path, map[string]any{"rows": []any{}, "delete": []any{map[string]any{column: text}}, "on": []any{column},
				"when_not_matched": "ignore"})
		}
		_, _, deleted := writer.Write(own+"/rows/delete", map[string]any{"where": "true"})
		require.Equal(t, 1.0, deleted)
	}
	for _, body := range []string{
		`{"rows":[],"delete":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
		`{"rows":[],"delete":[` + strings.Repeat(`{"v":"x"},`, 200_000) + `{"v":"x"}]}`,
		`{"rows":[],"delete":[{"v":"` + strings.Repeat("x", 10<<20) + `"}]}`, `{"rows":[],"delete":[{"v":{"v":"x"}}]}`,
		`{"rows":[],"delete":[{"v":"a","v":"b"}]}`, `{"rows":[],"delete":[{"v":"a"}],"delete":[{"v":"b"}]}`,
		`{"rows":[],"delete":[{"v":"\ud800"}]}`,
		`{"rows":[],"delete":[{"v":1e999}]}`, `{"rows":[],"delete":[{"V":"a","v":"a"}]}`, `{"delete":[{"v":"a"}]}`, `{"rows":[],"delete":[`,
	} {
		r := check(own, body, "Content-Type", "application/json")
		require.GreaterOrEqual(t, r.Status, 400, "%.100s", body)
	}
	require.Equal(t, before, s.Admin.Count(s.Schema+".t"))
}
