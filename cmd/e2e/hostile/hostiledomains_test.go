package hostile_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// Texts that callers send to the routes of domains are values, whatever they look like, and
// answers show neither hidden rows nor the inside of the server.
func TestHostileValuesOfDomainsAreOnlyValues(t *testing.T) {
	t.Parallel()
	s, attacker, _ := newHostile(t, nil)
	path := s.TablePath("t")
	writer := s.Member("mal@acme.example", "builder", map[string]string{"tenant": "a"})
	own := s.Create("own", nil, harness.Col("v", "string"), harness.Col("n", "long"), harness.Col("p", "string"))
	s.Admin.OK("PUT", own+"/columns/p/domain/reference", map[string]any{"table_path": "lake." + s.Schema + ".own", "column": "v"})
	s.Policy("own", "v", harness.Everyone)
	s.Admin.OK("PUT", path+"/columns/secret/domain/fixed", map[string]any{"values": []string{"x"}})
	texts := []string{
		`'`, `''`, `"`, `\`, `%`, `_`, `$1`, `?`, `;--`, `' OR '1'='1`, `'); DROP TABLE t; --`,
		`x' UNION SELECT secret FROM ` + s.Schema + `.t --`,
		`(SELECT max(secret) FROM ` + s.Schema + `.t)`, `{t}`, "a\nb", "\u202e", strings.Repeat("'", 1000), `NULL`, `NaN`, `1e999`, `-0`,
		"\u0000",
		`lake.` + s.Schema + `.t`, `../t`, `/etc/passwd`, `read_parquet('x')`,
	}
	check := func(c *harness.Client, method, to string, body any) harness.Reply {
		t.Helper()
		r := c.Call(method, to, body)
		require.Less(t, r.Status, 500, "%s %s: %s", method, to, r.Body)
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
		q := url.QueryEscape(text)
		for _, column := range []string{"secret", "tenant", url.PathEscape(text)} {
			for _, tail := range []string{"/domain", "/allowed-values?q=" + q, "/allowed-values?parent_value=" + q,
				"/allowed-values?page_token=" + q, "/domain/in-use?value=" + q} {
				check(attacker, "GET", path+"/columns/"+column+tail, nil)
			}
		}
		for _, tail := range []string{"/allowed-values?q=" + q, "/allowed-values?page_token=" + q, "/domain/in-use?value=" + q} {
			check(writer, "GET", own+"/columns/p"+tail, nil)
		}
		for to, body := range map[string]any{
			"v/domain/fixed": map[string]any{"values": []string{text}}, "n/domain/fixed": map[string]any{"values": []string{text}},
			"n/domain/range":     map[string]any{"min": text, "max": text},
			"v/domain/reference": map[string]any{"table_path": text, "column": text},
			"v/domain/hierarchical/inline": map[string]any{"parent_column": "n",
				"parents": []any{map[string]any{"value": "1", "children": []string{text}}}},
			"v/domain/hierarchical/table": map[string]any{"parent_column": "n", "table_path": "lake." + s.Schema + ".t", "parent_key": text,
				"child_key": text},
		} {
			check(writer, "PUT", own+"/columns/"+to, body)
		}
		if r := check(writer, "PUT", own+"/columns/v/domain/fixed", map[string]any{"values": []string{text, "safe"}}); r.Status != 200 {
			continue
		}
		// The value is written, found, renamed and listed as the text that it is.
		check(writer, "POST", own+"/rows", map[string]any{"rows": []any{map[string]any{"v": text}}})
		require.Equal(t, 422, check(writer, "POST", own+"/rows", map[string]any{"rows": []any{map[string]any{"v": text + "x"}}}).Status)
		used := check(writer, "GET", own+"/columns/v/domain/in-use?value="+q, nil)
		require.Equal(t, true, used.JSON(t)["in_use"], "%s", used.Body)
		listed := check(writer, "GET", own+"/columns/p/allowed-values?q="+q, nil)
		require.Contains(t, fmt.Sprint(listed.JSON(t)["allowed_values"]), text)
		values := writer.OK("GET", own+"/columns/v/domain", nil)["domain"].(map[string]any)["allowed_values"].([]any)
		check(writer, "DELETE", own+"/columns/v/domain/values/"+values[0].(map[string]any)["id"].(string)+"?replace_with=safe", nil)
	}
	require.Equal(t, 50.0, attacker.Count(s.Schema+".t"))
}
