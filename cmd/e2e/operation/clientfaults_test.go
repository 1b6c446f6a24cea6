package operation_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// nested are values of some depth.
var nested = map[string]func(depth int) string{
	"lists":   func(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) },
	"structs": func(n int) string { return strings.Repeat("{'a': ", n) + "1" + strings.Repeat("}", n) },
	"mixed":   func(n int) string { return strings.Repeat("{'a': [", n/2) + "1" + strings.Repeat("]}", n/2) },
}

// TestDeepResultsAreRefusedByName checks that results with deeply nested types are
// refused, because Arrow bounds the depth, and that a deep value that is not part of the
// result is not. DuckDB needs much memory for deep types, so the test does not share its
// server.
func TestDeepResultsAreRefusedByName(t *testing.T) {
	s := harness.Start(t, nil)
	s.Create("t", nil, harness.Col("id", "long"))
	for kind, value := range nested {
		for depth, works := range map[int]bool{2: true, 58: true, 62: false, 64: false, 66: false, 150: false} {
			name := fmt.Sprintf("%s of %d levels", kind, depth)
			for _, accept := range []string{"application/json", "application/vnd.apache.arrow.stream"} {
				r := s.Admin.Call("POST", "/v1/query", object{"sql": "SELECT " + value(depth) + " AS v"}, "Accept", accept)
				if works {
					require.Equal(t, 200, r.Status, "%s: %s", name, r.Body)
					continue
				}
				code, fields := r.Problem(t, 400)
				require.Equal(t, "too_complex", code, name)
				require.Equal(t, []string{"sql"}, fields, name)
			}
			for what, r := range map[string]harness.Reply{
				"cast":   s.Admin.Query("SELECT len(CAST(" + value(depth) + " AS VARCHAR))"),
				"where":  s.Admin.Call("GET", s.TablePath("t")+"/rows?where="+url.QueryEscape(value(depth)+" IS NOT NULL"), nil),
				"delete": s.Admin.Call("POST", s.TablePath("t")+"/rows/delete", object{"where": value(depth) + " IS NULL"}),
			} {
				require.Less(t, r.Status, 500, "%s, %s: %s", name, what, r.Body)
			}
		}
	}
	// DuckDB needs very much memory for few levels of maps.
	r := s.Admin.Query("SELECT " + strings.Repeat("MAP {'a': ", 40) + "1" + strings.Repeat("}", 40))
	require.Less(t, r.Status, 500, "%s", r.Body)
}

// sendRaw sends a request as it is and returns the reply.
func sendRaw(c *harness.Client, method, path, header, body string) (int, string) {
	c.T.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.URL, "http://"))
	require.NoError(c.T, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s\r\n%s", method, path, c.Key, header, body)
	require.NoError(c.T, err)
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(c.T, err)
	defer func() { _ = r.Body.Close() }()
	var text strings.Builder
	_, err = bufio.NewReader(r.Body).WriteTo(&text)
	require.NoError(c.T, err)
	return r.StatusCode, text.String()
}

// brokenChunks are bodies that are not valid chunked transfers.
var brokenChunks = map[string]string{
	"no length":         "\r\n\r\n",
	"no hex":            "zz\r\n{}\r\n0\r\n\r\n",
	"too long a length": "fffffffffffffffff\r\n{}",
	"longer":            "2\r\n{}{}{}\r\n0\r\n\r\n",
	"line end missing":  "2\r\n{}0\r\n\r\n",
	"negative":          "-1\r\n{}\r\n0\r\n\r\n",
	"long extension":    "2;" + strings.Repeat("x", 10_000) + "\r\n{}\r\n0\r\n\r\n",
	"broken trailer":    "2\r\n{}\r\n0\r\nno trailer\r\n\r\n",
}

func TestMalformedChunksAreTheClientsFault(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Create("t", nil, harness.Col("id", "long"))
	d := readDescription(t)
	for _, op := range d.operations() {
		if op.RequestBody == nil {
			continue
		}
		types := []string{"application/json"}
		if _, form := op.RequestBody.Content["multipart/form-data"]; form {
			types = []string{"multipart/form-data; boundary=b"}
		}
		if _, form := op.RequestBody.Content["application/x-www-form-urlencoded"]; form {
			types = []string{"application/x-www-form-urlencoded"}
		}
		if op.streamsRows() {
			for media := range op.RequestBody.Content {
				types = append(types, media)
			}
		}
		op.path = strings.NewReplacer("{catalog}", "lake", "{schema}", s.Schema, "{table_name}", "t").Replace(op.path)
		for _, media := range types {
			for name, body := range brokenChunks {
				status, text := sendRaw(s.Admin, op.method, op.fill("", ""), "Content-Type: "+media+"\r\nTransfer-Encoding: chunked\r\n", body)
				if name == "broken trailer" && status < 500 {
					continue
				}
				require.Equal(t, 400, status, "%s %s, %s: %s", op.OperationID, media, name, text)
				require.Contains(t, text, `"invalid_body"`, "%s %s, %s", op.OperationID, media, name)
			}
		}
	}
}

// oddTexts are texts that a member or parameter can hold although nobody means them.
var oddTexts = []string{
	"a\x00b", "\x00", "\x01", "\x1b[31m", "a\r\nb", "\u0085", "\u2028", "\u202e", "\ufeff", "\ufffe", "\ufffd", "\U0010ffff", "",
	" ", "''", `"`, "`", `\`, "%", "%00", "../..", "/", ".", "a/../b", strings.Repeat("x", 250), strings.Repeat("\U0001F600", 60),
}

// oddBodies are bodies of which one text, at any depth, is odd.
func (d description) oddBodies(base any, s schema, text string, put func(any) any) []any {
	s = d.resolve(s)
	var out []any
	switch types := fmt.Sprint(s.Type); {
	case strings.Contains(types, "string"), s.Type == nil:
		out = append(out, put(text))
	case strings.Contains(types, "array") && s.Items != nil:
		var first any
		if have, ok := base.([]any); ok && len(have) > 0 {
			first = have[0]
		}
		out = append(out, d.oddBodies(first, *s.Items, text, func(v any) any { return put([]any{v}) })...)
	case strings.Contains(types, "object"):
		have, _ := base.(map[string]any)
		with := func(name string, v any) any {
			all := map[string]any{}
			maps.Copy(all, have)
			all[name] = v
			return put(all)
		}
		if len(s.Properties) == 0 {
			out = append(out, put(map[string]any{text: "1"}), put(map[string]any{"a": text}))
		}
		for name, property := range s.Properties {
			out = append(out, d.oddBodies(have[name], property, text, func(v any) any { return with(name, v) })...)
		}
	}
	return out
}

// TestOddTextsAreNeverTheServersFault puts texts with control characters and the
// like into every member, parameter and header that takes a text.
func TestOddTextsAreNeverTheServersFault(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	s.Create("t", nil, harness.Col("id", "long"), harness.Col("name", "string"))
	d := readDescription(t)
	place := strings.NewReplacer("{catalog}", "lake", "{schema}", s.Schema, "{table_name}", "t", "{organisation_id}", s.Boot.OrganisationID,
		"{org_id}", s.Boot.OrganisationID, "{user_id}", s.Boot.UserID)
	for _, op := range d.operations() {
		if slices.Contains([]string{"dropTable", "renameTable"}, op.OperationID) {
			continue // the others need the table
		}
		op.path = place.Replace(op.path)
		var base any
		if text := operationAccess[op.OperationID].body; text != "" {
			require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(text, "%s", "tables:read")), &base), op.OperationID)
		}
		fine := func(r harness.Reply, what string) {
			require.Less(t, r.Status, 500, "%s: %s: %s", op.OperationID, what, r.Body)
		}
		for _, text := range oddTexts {
			if body, ok := op.body(d); ok {
				for _, odd := range d.oddBodies(base, body, text, func(v any) any { return v }) {
					raw, err := json.Marshal(odd)
					require.NoError(t, err)
					fine(s.Admin.Call(op.method, op.fill("", ""), string(raw)), string(raw))
				}
			}
			for _, p := range op.Parameters {
				var body any
				if base != nil {
					body = base
				}
				switch p.In {
				case "query":
					fine(s.Admin.Call(op.method, op.fill("", "")+"?"+p.Name+"="+url.QueryEscape(text), body), p.Name+" "+text)
				case "path":
					fine(s.Admin.Call(op.method, op.fill(p.Name, url.PathEscape(text)), body), p.Name+" "+text)
				case "header":
					if !strings.ContainsAny(text, "\x00\x01\x1b\r\n") {
						fine(s.Admin.Call(op.method, op.fill("", ""), body, p.Name, text), p.Name+" "+text)
					}
				}
			}
		}
	}
	require.Equal(t, 200, s.Admin.Query("SELECT * FROM "+s.Schema+".t").Status, "the table is as good as before")
	require.NotContains(t, s.Log.String(), `"msg":"panic"`)
}
