package operation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api"
	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// fill replaces the parameters of a path: ids by ones that do not exist, names
// by plain ones. override replaces a single parameter.
func (op operation) fill(override, value string) string {
	path := op.path
	for _, p := range op.Parameters {
		if p.In != "path" {
			continue
		}
		text := "nothing"
		if p.Schema.Format == "uuid" {
			text = uuid.NewString()
		}
		if p.Name == override {
			text = value
		}
		path = strings.ReplaceAll(path, "{"+p.Name+"}", text)
	}
	return path
}

// wrong returns a value of another type than the schema's.
func wrong(s schema) any {
	types := fmt.Sprint(s.Type)
	switch {
	case strings.Contains(types, "string"), strings.Contains(types, "array"):
		return 17
	case strings.Contains(types, "integer"), strings.Contains(types, "boolean"), strings.Contains(types, "object"):
		return "seventeen"
	}
	return nil
}

func TestBadInputIsRefusedByEveryOperation(t *testing.T) {
	s := harness.Start(t, nil)
	d := readDescription(t)
	for _, op := range d.operations() {
		t.Run(op.OperationID, func(t *testing.T) {
			t.Parallel()
			c := s.Client(s.Admin.Key, s.Admin.User)
			c.T = t
			body, hasBody := op.body(d)
			if hasBody && !op.streamsRows() { // see TestBadBodiesOfRows
				badBodies(t, c, d, op, body)
			}
			badParameters(t, c, op, hasBody)
		})
	}
	t.Cleanup(func() {
		require.NotContains(t, s.Log.String(), `"msg":"panic"`)
	})
}

func badBodies(t *testing.T, c *harness.Client, d description, op operation, body schema) {
	send := func(text string) harness.Reply { return c.Call(op.method, op.fill("", ""), text) }
	open := string(body.AdditionalProperties) != "" && string(body.AdditionalProperties) != "false"

	if !open {
		require.True(t, harness.NamesField(harness.Refused(t, send(`{"no_such_field":1}`), 422), "no_such_field"), "unknown field")
		require.True(t, harness.NamesField(harness.Refused(t, send(`{"No_Such":{"a":[1,2,{"b":null}]}}`), 422), "No_Such"), "unknown field")
	}
	for name, property := range body.Properties {
		value := wrong(d.resolve(property))
		if value == nil {
			continue
		}
		text, err := json.Marshal(map[string]any{name: value})
		require.NoError(t, err)
		require.True(t, harness.NamesField(harness.Refused(t, send(string(text)), 422), name), "%s: %s", text, "field not named")
		require.True(t, harness.NamesField(harness.Refused(t, send(`{"`+strings.ToUpper(name)+`":1}`), 422), strings.ToUpper(name)),
			"names are case-sensitive")
	}
	if len(body.Required) > 0 {
		fields := harness.Refused(t, send(`{}`), 422)
		for _, name := range body.Required {
			require.True(t, harness.NamesField(fields, name), "%v lacks %s", fields, name)
		}
	}
	for _, text := range []string{`{`, `}`, `{"a":1`, `not json`, "\x00\x01", `{"a":1}{"b":2}`, `{"a":1} x`, `{'a':1}`, `{"a":NaN}`,
		"{\"a\":\"\xff\xfe\"}"} {
		r := send(text)
		require.Contains(t, []int{400, 422}, r.Status, "%q: %s", text, r.Body)
		harness.Refused(t, r, r.Status)
	}
	for _, text := range []string{`{`, `not json`, `{"a":1`} {
		harness.Refused(t, send(text), 400)
	}
	for _, text := range []string{`[]`, `[{}]`, `"text"`, `17`, `true`} {
		harness.Refused(t, send(text), 422)
	}
	if op.RequestBody.Required {
		r := c.Call(op.method, op.fill("", ""), nil)
		harness.Refused(t, r, 400)
	}
	harness.Refused(t, send(`{"name":"a","name":"b"}`), 400)
	harness.Refused(t, send(`{"a":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`), 400)
	r := c.Call(op.method, op.fill("", ""), "a,b\n1,2\n", "Content-Type", "text/csv")
	harness.Refused(t, r, 400)
}

func badParameters(t *testing.T, c *harness.Client, op operation, hasBody bool) {
	var body any
	if hasBody {
		body = `{}`
	}
	for _, p := range op.Parameters {
		switch {
		case p.In == "path" && p.Schema.Format == "uuid":
			for _, value := range []string{"nonsense", "123", "00000000-0000-0000-0000-00000000000g", "%27%20OR%201=1", strings.Repeat("a", 300)} {
				fields := harness.Refused(t, c.Call(op.method, op.fill(p.Name, value), body), 422)
				require.True(t, harness.NamesField(fields, p.Name), "%v lacks %s", fields, p.Name)
			}
		case p.In == "path":
			for _, value := range []string{"%00", "%FF", "a%2Fb", "..%2F..", "%22%3B--", "\U0001F600", strings.Repeat("n", 2000)} {
				r := c.Call(op.method, op.fill(p.Name, value), body)
				require.Contains(t, []int{400, 404, 422}, r.Status, "%s=%s: %s", p.Name, value, r.Body)
				harness.Refused(t, r, r.Status)
			}
		case p.In == "query" && strings.Contains(fmt.Sprint(p.Schema.Type), "integer"):
			for _, value := range []string{"-1", "abc", "1e3", "99999999999999999999", "0x10", "1001"} {
				if p.Name != "page_size" && value == "1001" {
					continue
				}
				fields := harness.Refused(t, c.Call(op.method, op.fill("", "")+"?"+p.Name+"="+value, body), 422)
				require.True(t, harness.NamesField(fields, p.Name), "%v lacks %s", fields, p.Name)
			}
		case p.In == "query" && (p.Schema.Format != "" || len(p.Schema.Enum) > 0):
			fields := harness.Refused(t, c.Call(op.method, op.fill("", "")+"?"+p.Name+"=nonsense", body), 422)
			require.True(t, harness.NamesField(fields, p.Name), "%v lacks %s", fields, p.Name)
		}
	}
	if strings.HasSuffix(op.OperationID, "Callback") {
		return // providers add parameters of their own
	}
	fields := harness.Refused(t, c.Call(op.method, op.fill("", "")+"?no_such=1", body), 422)
	require.True(t, harness.NamesField(fields, "no_such"), "%v", fields)
}

// TestBadPageTokensAreRefused uses paths of things that exist: a token is read
// when its list is.
func TestBadPageTokensAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	s.Table("t", `SELECT i AS id FROM range(10) t(i)`, nil, column{"id", "long"})
	org := "/v1/organisations/" + s.Boot.OrganisationID
	policy := s.Policy("t", "id", `{"effect":"permit","subject":{"everyone":true}}`)
	lists := []string{
		"/v1/api-keys", "/v1/storages/configs", "/v1/tables", org + "/users", org + "/workspaces", org + "/audit", org + "/policies",
		org + "/policies/" + policy["id"].(string) + "/history", org + "/workspaces/" + s.Boot.WorkspaceID + "/members",
		"/v1/operations", "/v1/tables/lake/" + s.Schema + "/t/history", "/v1/tables/lake/" + s.Schema + "/t/rows",
	}
	tokens := []string{"x", "AAAA", "%00", "bm9uc2Vuc2U", strings.Repeat("A", 2048), strings.Repeat("A", 2049), "eyJsIjoidGFibGVzIn0"}
	for _, list := range lists {
		require.Equal(t, 200, s.Admin.Call("GET", list, nil).Status, list)
		for _, token := range tokens {
			fields := harness.Refused(t, s.Admin.Call("GET", list+"?page_token="+token, nil), 422)
			require.Contains(t, fields, "page_token", "%s %s", list, token)
		}
	}
	// A token of one list is not one of another.
	s.Admin.OK("POST", "/v1/api-keys", map[string]any{"name": "second"})
	keys := s.Admin.OK("GET", "/v1/api-keys?page_size=1", nil)
	token := keys["next_page_token"].(string)
	for _, list := range lists[1:] {
		harness.Refused(t, s.Admin.Call("GET", list+"?page_token="+token, nil), 422)
	}
}

func TestEveryPathRefusesOtherMethodsWithoutABody(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	d := readDescription(t)
	for path, methods := range d.Paths {
		var op operation
		var allowed []string
		for method, o := range methods {
			op, allowed = o, append(allowed, strings.ToUpper(method))
		}
		op.path = path
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			if slices.Contains(allowed, method) {
				continue
			}
			target := op.fill("", "")
			// Another template may take the same text.
			if _, taken := takenBy(d, target, method); taken {
				continue
			}
			r := s.Admin.Call(method, target, nil)
			require.Equal(t, 405, r.Status, "%s %s: %s", method, target, r.Body)
			require.Empty(t, r.Body)
			require.NotEmpty(t, r.Header.Get("X-Request-Id"))
			for _, a := range allowed {
				require.Contains(t, r.Header.Get("Allow"), a, "%s %s", method, path)
			}
			require.NotContains(t, strings.Split(r.Header.Get("Allow"), ", "), method)
		}
	}
}

// takenBy finds a described path that has the method and matches the text.
func takenBy(d description, target, method string) (string, bool) {
	parts := strings.Split(target, "/")
	for path, methods := range d.Paths {
		template := strings.Split(path, "/")
		if len(template) != len(parts) {
			continue
		}
		match := true
		for i := range template {
			match = match && (strings.HasPrefix(template[i], "{") || template[i] == parts[i])
		}
		if _, ok := methods[strings.ToLower(method)]; ok && match {
			return path, true
		}
	}
	return "", false
}

func TestRequestsThatNoRouteTakes(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	for _, path := range []string{"/", "/v1", "/v1/", "/v2/query", "/v1/nothing", "/v1/query/", "/v1//query", "/v1/tables/lake",
		"/v1/storages", "/%00", "/v1/../etc/passwd", "/docs/nothing.js"} {
		r := s.Admin.Call("GET", path, nil)
		if r.Status == 405 { // a path that exists for another method only
			continue
		}
		code, _ := r.Problem(t, 404)
		require.Equal(t, "not_found", code, path)
	}
	r := s.Admin.Call("GET", "/v1/nothing", nil, "X-Request-Id", "my-own.id_1")
	require.Equal(t, "my-own.id_1", r.Header.Get("X-Request-Id"))
	require.Equal(t, "my-own.id_1", r.JSON(t)["request_id"])
	r = s.Admin.Call("GET", "/v1/nothing", nil, "X-Request-Id", "<script>alert(1)</script>")
	require.NotContains(t, string(r.Body), "script")
	require.NotEmpty(t, r.Header.Get("X-Request-Id"))
}

func TestOversizeRequestsGetAnEmpty413(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	empty := func(r harness.Reply) {
		t.Helper()
		require.Equal(t, 413, r.Status)
		require.Empty(t, r.Body)
		require.NotEmpty(t, r.Header.Get("X-Request-Id"))
	}
	big := bytes.Repeat([]byte(" "), 33<<20)
	empty(s.Admin.Call("POST", "/v1/query", string(big)))
	empty(s.Admin.Call("GET", "/v1/tables?schema="+strings.Repeat("a", 9000), nil))
	empty(s.Admin.Call("GET", "/v1/tables", nil, "X-Filler", strings.Repeat("a", 17<<10)))

	// Without a length in front the body is cut while it is read.
	req, err := http.NewRequest(http.MethodPost, s.URL+"/v1/query", io.MultiReader(strings.NewReader(`{"sql":"`), bytes.NewReader(big),
		strings.NewReader(`"}`)))
	require.NoError(t, err)
	req.ContentLength = -1
	req.Header.Set("Authorization", "Bearer "+s.Admin.Key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, 413, resp.StatusCode, "%s", text)
	require.Empty(t, text)

	require.Equal(t, 200, s.Admin.Query("SELECT 1").Status)
	code, _ := s.Admin.Query("SELECT '"+strings.Repeat("x", 300<<10)+"'").Problem(t, 422)
	require.Equal(t, "invalid_field", code)
}

// TestPanicIsA500AndTheServerContinues sends a request through the whole chain into
// a handler without a store behind it.
func TestPanicIsA500AndTheServerContinues(t *testing.T) {
	t.Parallel()
	auditor := caller.NewAuditor(context.Background(), noAudit{}, slog.New(slog.DiscardHandler))
	defer auditor.Close()
	handler, _ := api.NewRouter(api.Deps{
		Queries: &query.Service{}, Analyses: &analysis.Service{}, Metrics: prometheus.NewRegistry(), Health: &api.Health{},
		Authenticator: everybody{},
		Auditor:       auditor, Logger: slog.New(slog.DiscardHandler), Rate: middleware.Rate{PerMinute: 6000, Burst: 200},
	})
	server := httptest.NewServer(handler)
	defer server.Close()
	c := &harness.Client{T: t, URL: server.URL, Key: "any"}
	for range 3 {
		code, fields := c.Call("GET", "/v1/api-keys", nil, "X-Request-Id", "boom-1").Problem(t, 500)
		require.Equal(t, "internal_error", code)
		require.Empty(t, fields)
		require.Equal(t, 200, c.Call("GET", "/v1/limits", nil).Status)
	}
}

// everybody accepts every credential.
type everybody struct{}

// Authenticate implements auth.Authenticator.
func (everybody) Authenticate(context.Context, string) (auth.Principal, error) {
	return auth.Principal{OrgID: uuid.New(), UserID: uuid.New(), Role: auth.RoleAdmin, Granted: auth.AllScopes(), Scopes: auth.AllScopes(),
		Method: auth.MethodJWT}, nil
}

// noAudit keeps nothing.
type noAudit struct{ catalog.Audit }

// AppendAudit implements catalog.Audit.
func (noAudit) AppendAudit(context.Context, ...catalog.AuditEntry) error { return nil }

// streamsRows: the body is read as a stream, after the table was found.
func (op operation) streamsRows() bool {
	return op.OperationID == "insertRows" || op.OperationID == "mergeRows"
}
