package query_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestConditionsOnBinaryPartitions checks every operator over a binary partition column, in
// pages of rows and in statements, of a table that is read as a list of files and of one with so
// many partitions that it is read through its log. File i has the rows 2i and 2i+1; the viewer
// sees those of the first four files.
func TestConditionsOnBinaryPartitions(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	values := []string{"abc", "\x01\x00", "ÿ", `a\b`, `a\xFFb`, ""}
	many := append([]string{}, values...)
	for i := range 70 {
		many = append(many, fmt.Sprintf("~%02d", i))
	}
	foreignPartitions(s, "few", "binary", map[string]string{}, values...)
	foreignPartitions(s, "many", "binary", map[string]string{}, many...)
	s.Discover()
	ana := s.Member("ana@acme.example", "viewer", nil)
	for _, table := range []string{"few", "many"} {
		s.Policy(table, "", `{"effect":"permit","subject":{"role":"viewer"},"condition":{"column":"id","op":"lt","value":8}}`)
		s.Policy(table, "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	}
	// answer returns the ids of even number below 12 that fulfil a condition, in a page and in a
	// statement, or the code and the message of the refusal.
	answer := func(c *harness.Client, table, where string) []string {
		page := c.Call("GET", s.TablePath(table)+"/rows?select=id&order_by=id&where="+
			url.QueryEscape("("+where+") AND id % 2 = 0 AND id < 12"), nil)
		query := c.Query("SELECT id FROM " + s.Schema + "." + table + " WHERE (" + where + ") AND id % 2 = 0 AND id < 12 ORDER BY id")
		var out []string
		for field, r := range map[string]harness.Reply{"where": page, "sql": query} {
			if r.Status == 200 {
				out = append(out, fmt.Sprint(r.JSON(t)["rows"]))
				continue
			}
			code, _ := r.Problem(t, r.Status)
			require.Contains(t, r.Details(t), field, "%s: %s", where, r.Body)
			out = append(out, code)
		}
		require.Equal(t, out[0], out[1], where)
		return out[:1]
	}
	for where, want := range map[string][2]string{
		"p = 'abc'":          {"[[0]]", "[[0]]"},
		`p = '\x01\x00'`:     {"[[2]]", "[[2]]"},
		`p = '\xC3\xBF'`:     {"[[4]]", "[[4]]"},
		"p = encode('ÿ')":    {"[[4]]", "[[4]]"},
		`p = encode('a\b')`:  {"[[6]]", "[[6]]"},
		`p = 'a\x5Cb'`:       {"[[6]]", "[[6]]"},
		`p = 'a\x5CxFFb'`:    {"[[8]]", "[]"},
		`p = 'a\xFFb'`:       {"[]", "[]"},
		"decode(p) = 'ÿ'":    {"[[4]]", "[[4]]"},
		"octet_length(p)= 3": {"[[0] [6]]", "[[0] [6]]"},

		"p = from_base64('w78=')":                       {"[[4]]", "[[4]]"},
		"p <> 'abc'":                                    {"[[2] [4] [6] [8]]", "[[2] [4] [6]]"},
		"p < 'abc'":                                     {"[[2] [6] [8]]", "[[2] [6]]"},
		"p <= 'abc'":                                    {"[[0] [2] [6] [8]]", "[[0] [2] [6]]"},
		`p > 'abc'`:                                     {"[[4]]", "[[4]]"},
		`p >= 'abc'`:                                    {"[[0] [4]]", "[[0] [4]]"},
		`p BETWEEN 'a' AND '\xFF'`:                      {"[[0] [4] [6] [8]]", "[[0] [4] [6]]"},
		`p NOT BETWEEN 'a' AND '\xFF'`:                  {"[[2]]", "[[2]]"},
		`p IN ('abc', '\xC3\xBF')`:                      {"[[0] [4]]", "[[0] [4]]"},
		`p NOT IN ('abc', '\xC3\xBF')`:                  {"[[2] [6] [8]]", "[[2] [6]]"},
		"p IS NULL":                                     {"[[10]]", "[]"},
		"p IS NOT NULL":                                 {"[[0] [2] [4] [6] [8]]", "[[0] [2] [4] [6]]"},
		`p IS DISTINCT FROM '\xC3\xBF'`:                 {"[[0] [2] [6] [8] [10]]", "[[0] [2] [6]]"},
		`p IS NOT DISTINCT FROM '\xC3\xBF'`:             {"[[4]]", "[[4]]"},
		"NOT (p = 'abc' OR p IS NULL)":                  {"[[2] [4] [6] [8]]", "[[2] [4] [6]]"},
		"CASE WHEN p = 'abc' THEN true END":             {"[[0]]", "[[0]]"},
		"p::VARCHAR LIKE 'a%'":                          {"[[0] [6] [8]]", "[[0] [6]]"},
		"p = (SELECT max(p) FROM " + s.Schema + ".few)": {"[[4]]", "[[4]]"},

		// What cannot be compared is refused with its reason, whatever the caller sees.
		"p = 'ÿ'":                         {"binary_text_invalid", "binary_text_invalid"},
		`p <> 'a\b'`:                      {"binary_text_invalid", "binary_text_invalid"},
		"p < 'ÿ'":                         {"binary_text_invalid", "binary_text_invalid"},
		"p BETWEEN 'a' AND 'ÿ'":           {"binary_text_invalid", "binary_text_invalid"},
		"p IN ('abc', 'ÿ')":               {"binary_text_invalid", "binary_text_invalid"},
		"p IS NOT DISTINCT FROM 'ÿ'":      {"binary_text_invalid", "binary_text_invalid"},
		"CASE WHEN p = 'ÿ' THEN true END": {"binary_text_invalid", "binary_text_invalid"},
		"p LIKE 'a%'":                     {"type_mismatch", "type_mismatch"},
		"p = 1":                           {"type_mismatch", "type_mismatch"}, "p > 1": {"type_mismatch", "type_mismatch"},
		"p IN (1, 2)": {"type_mismatch", "type_mismatch"}, "p = DATE '2024-01-01'": {"type_mismatch", "type_mismatch"},
		"starts_with(p, 'a')": {"type_mismatch", "type_mismatch"},
	} {
		for _, table := range []string{"few", "many"} {
			require.Equal(t, []string{want[0]}, answer(s.Admin, table, where), "%s: %s", table, where)
			require.Equal(t, []string{want[1]}, answer(ana, table, where), "%s: %s", table, where)
		}
	}
	require.Equal(t, list{list{0.0}}, ana.Rows("SELECT id FROM "+s.Schema+".few WHERE p = ? AND id % 2 = 0", "abc"))
	r := ana.Query("SELECT id FROM "+s.Schema+".few WHERE p = ?", "ÿ")
	code, _ := r.Problem(t, 422)
	require.Equal(t, "binary_text_invalid", code)

	// Pages in the order of the bytes.
	var read []string
	for token := ""; ; {
		got := s.Admin.OK("GET", s.TablePath("few")+"/rows?select=p&order_by=p&page_size=5&page_token="+url.QueryEscape(token), nil)
		for _, row := range got["rows"].(list) {
			read = append(read, fmt.Sprint(row.(list)[0]))
		}
		token, _ = got["next_page_token"].(string)
		if token == "" {
			break
		}
	}
	require.Equal(t, "AQA= AQA= YVxi YVxi YVx4RkZi YVx4RkZi YWJj YWJj w78= w78= <nil> <nil>", strings.Join(read, " "))

	// A change takes the same conditions.
	code, _ = s.Admin.Call("POST", s.TablePath("few")+"/rows/delete", object{"where": "p = 'ÿ'"}).Problem(t, 422)
	require.Equal(t, "binary_text_invalid", code)
	_, _, deleted := s.Admin.Write(s.TablePath("few")+"/rows/delete", object{"where": `p = '\xC3\xBF'`})
	require.Equal(t, 2.0, deleted)
}
