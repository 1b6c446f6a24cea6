package problem_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/sessions"
)

// coded is an error of a package that cannot be imported by package problem.
type coded struct{ code string }

func (coded) Error() string         { return "coded" }
func (c coded) ProblemCode() string { return c.code }

func TestFrom(t *testing.T) {
	_, unknownScope := auth.ExpandScopes([]string{"read", "nope"})
	bad := "soon"
	_, expiry := apikey.Expiry(time.Now(), &bad, nil)
	type detail = problem.Detail
	for _, c := range []struct {
		name    string
		err     error
		status  int
		code    string
		details []detail
	}{
		{"nil", nil, 500, "internal_error", nil},
		{"unknown", errors.New("pq: password authentication failed"), 500, "internal_error", nil},
		{"unknown code", coded{"no_such_code"}, 500, "internal_error", nil},
		{"code of its own", fmt.Errorf("resolve: %w", coded{"table_id_ambiguous"}), 409, "table_id_ambiguous", nil},
		{"refusal", &problem.Refusal{Code: "feature_disabled"}, 403, "feature_disabled", nil},
		{"refusal with fields", &problem.Refusal{Code: "invalid_field", Details: []detail{{"a", "b"}}}, 422, "invalid_field",
			[]detail{{"a", "b"}}},
		{"scope missing", fmt.Errorf("query: %w", &auth.ScopeError{Scope: auth.ScopeTablesQuery}), 403, "insufficient_scope",
			[]detail{{"scope", "tables:query is missing"}}},
		{"unknown scope", unknownScope, 422, "invalid_field", []detail{{"scopes[1]", "is not a known scope or preset"}}},
		{"expiry", expiry, 422, "invalid_field", []detail{{"expires_in", "must be a duration such as 72h, 30d, 2w or P90D"}}},
		{"catalog fields", catalog.FieldErrors{{Field: "expires_at", Message: "x"}, {Field: "name", Message: "y"}}, 422, "invalid_field",
			[]detail{{"expires_at", "x"}, {"name", "y"}}},
		{"exists", fmt.Errorf("create: %w", &catalog.ExistsError{Field: "name"}), 409, "already_exists", []detail{{"name", "is taken"}}},
		{"version", &catalog.VersionConflictError{Current: 7}, 409, "version_conflict", []detail{{"expected_version", "current version is 7"}}},
		{"denied for a scope", &catalog.DeniedError{Scope: "org:read"}, 403, "insufficient_scope", []detail{{"scope", "org:read is missing"}}},
		{"denied for a role", &catalog.DeniedError{Reason: "role_escalation"}, 403, "role_escalation", nil},
		{"denied for a reason without a code", &catalog.DeniedError{Reason: "system_only"}, 403, "forbidden", nil},
		{"denied for what is seen", &catalog.DeniedError{Reason: "rows_filtered"}, 403, "forbidden",
			[]detail{{"table", "this is for callers who see all rows and columns of the table"}}},
		{"denied for a reason that is another code", &catalog.DeniedError{Reason: "not_found"}, 403, "forbidden", nil},
		{"policy field", &policy.FieldError{Field: "definition.condition.op", Code: policy.CodeInvalid, Message: "is not an operator"}, 422,
			"invalid_policy", []detail{{"definition.condition.op", "is not an operator"}}},
		{"policy type", &policy.FieldError{Field: "definition.condition.op", Code: policy.CodeTypeNotSupported,
			Message: "gt is not supported for text"}, 422, "type_not_supported",
			[]detail{{"definition.condition.op", "gt is not supported for text"}}},
		{"policy text", &policy.TextError{Line: 2, Column: 5, Message: "unexpected }"}, 422, "invalid_policy",
			[]detail{{"policyText", "line 2, column 5: unexpected }"}}},
		{"statement", &refusal.Error{Code: refusal.CodeFunction, Line: 1, Column: 8, Name: "read_csv", Message: "read_csv is not served",
			Near: []string{"a", "b"}}, 400, "function_not_allowed", []detail{{"sql", "line 1, column 8: read_csv is not served; near: a, b"}}},
		{"statement too large", &refusal.Error{Code: refusal.CodeTooLarge, Message: "x"}, 422, "invalid_field", []detail{{"sql", "x"}}},
		{"placed statement", &refusal.Placed{Err: &refusal.Error{Code: refusal.CodeFunction, Line: 9, Column: 9, Message: "x"}, Field: "where",
			Position: refusal.Position{Line: 1, Column: 2}}, 400, "function_not_allowed", []detail{{"where", "line 1, column 2: x"}}},
		{"placed name", &refusal.Placed{Err: &engine.Error{Kind: engine.KindBind, Class: "column_not_found", Name: "inner"}, Field: "where",
			Position: refusal.Position{Line: 1, Column: 2}, Name: "salry", Near: []string{"salary"}}, 400, "column_not_found",
			[]detail{{"where", `line 1, column 2: column not found: "salry"; near: salary`}}},
		{"placed types", &refusal.Placed{Err: &engine.Error{Kind: engine.KindBind, Class: "ambiguous_function"}, Field: "sql",
			Position: refusal.Position{Line: 3, Column: 4}, Name: "+"}, 400, "type_mismatch",
			[]detail{{"sql", `line 3, column 4: types do not fit: "+"; add a cast`}}},
		{"placed value", &refusal.Placed{Err: &engine.Error{Kind: engine.KindRuntime, Class: "conversion", Text: "inner"}, Field: "set.a"}, 422,
			"value_error", []detail{{"set.a", "a value cannot be converted to the wanted type"}}},
		{"placed parameter", &refusal.Placed{Err: &engine.Error{Kind: engine.KindBind, Class: "parameter_mix"}, Field: "sql"}, 400,
			"invalid_parameter", []detail{{"parameters", "names and positions of parameters do not go together"}}},
		{"syntax", &engine.Error{Kind: engine.KindSyntax, Class: "syntax"}, 400, "syntax_error", nil},
		{"column", &engine.Error{Kind: engine.KindBind, Class: "column_not_found", Name: "salry"}, 400, "column_not_found",
			[]detail{{"sql", "column not found"}}},
		{"parameter without a value", &engine.Error{Kind: engine.KindBind, Class: "parameter_missing", Name: "since"}, 400, "invalid_parameter",
			[]detail{{"parameters", "no value for the parameter: since"}}},
		{"value without a parameter", &engine.Error{Kind: engine.KindBind, Class: "parameter_unknown", Name: "2"}, 400, "invalid_parameter",
			[]detail{{"parameters", "the statement has no such parameter: 2"}}},
		{"parameters of two kinds", &engine.Error{Kind: engine.KindBind, Class: "parameter_mix"}, 400, "invalid_parameter",
			[]detail{{"parameters", "names and positions of parameters do not go together"}}},
		{"a path where a name belongs", &engine.Error{Kind: engine.KindBind, Class: "table_not_found", Name: "/srv/data/t"}, 400,
			"table_not_found", []detail{{"sql", "table not found"}}},
		{"new class of bind error", &engine.Error{Kind: engine.KindBind, Class: "brand_new"}, 400, "invalid_statement", nil},
		{"a text that is not a binary value", &engine.Error{Kind: engine.KindRuntime, Class: "binary_text"}, 422, "binary_text_invalid",
			[]detail{{"sql", `a text is not a binary value: write a backslash and bytes beyond ASCII as \xAB, or use encode or from_base64`}}},
		{"types without a cast", &engine.Error{Kind: engine.KindRuntime, Class: "cast_missing"}, 400, "type_mismatch",
			[]detail{{"sql", "types do not fit: a value of one type cannot be cast to the other"}}},
		{"division", &engine.Error{Kind: engine.KindRuntime, Class: "division"}, 422, "value_error", []detail{{"sql", "division by zero"}}},
		{"new class of run-time error", &engine.Error{Kind: engine.KindRuntime, Class: "brand_new"}, 422, "value_error", nil},
		{"memory", &engine.Error{Kind: engine.KindOutOfMemory}, 422, "query_memory_exhausted", nil},
		{"timeout", &engine.Error{Kind: engine.KindInterrupted, Timeout: true}, 422, "query_timeout", nil},
		{"interrupted", &engine.Error{Kind: engine.KindInterrupted}, 409, "query_cancelled", nil},
		{"io", &engine.Error{Kind: engine.KindIO}, 503, "storage_unavailable", nil},
		{"damaged file", &engine.Error{Kind: engine.KindIO, Class: engine.ClassDataFile, Text: "/srv/data/t", File: "f", Column: "c"}, 409,
			"data_file_unreadable", nil},
		{"missing file", &engine.Error{Kind: engine.KindIO, Class: engine.ClassMissing, Name: "/srv/data/t", Text: "/srv/data/t"}, 409,
			"data_file_missing", []detail{{"reason", "data_file_missing"}}},
		{"fatal", &engine.Error{Kind: engine.KindFatal, Name: "x"}, 503, "engine_failed", nil},
		{"defect of the engine", &engine.Error{Kind: engine.KindInternal, Name: "x"}, 500, "internal_error", nil},
		{"feature", &delta.FeatureError{Feature: "rowTracking", Write: true}, 409, "unsupported_table_feature",
			[]detail{{"feature", "rowTracking"}}},
		{"partition value", fmt.Errorf("table: %w", &delta.PartitionError{Column: "p", Type: delta.Double}), 409, "partition_value_unreadable",
			[]detail{{"columns.p", "a file has a partition value that is not of type double"}}},
		{"partition value of a column that is not named", (&delta.PartitionError{Column: "p", Type: delta.Double}).Unnamed(), 409,
			"partition_value_unreadable", []detail{{"partition_column", "a file has a partition value that is not of its column's type"}}},
		{"lost race", fmt.Errorf("append: %w", delta.ErrContention), 409, "commit_conflict", nil},
		{"store inside a broken log", fmt.Errorf("%w: %w", delta.ErrLogBroken, objstore.ErrNotFound), 409, "table_log_broken", nil},
		{"busy", &sessions.BusyError{Scope: "server", RetryAfter: time.Second}, 503, "server_busy", nil},
		{"authentication cut short", fmt.Errorf("%w: %w", auth.ErrUnavailable, context.Canceled), 503, "unavailable", nil},
		{"body too large", fmt.Errorf("read: %w", &http.MaxBytesError{Limit: 1}), 413, "payload_too_large", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := problem.From(c.err)
			require.Equal(t, c.status, p.Status)
			require.Equal(t, c.code, p.Name)
			if c.details == nil {
				c.details = []detail{}
			}
			require.Equal(t, c.details, p.Details)
			require.Equal(t, p.Status == 429 || p.Status == 503, p.RetryAfter >= time.Second)
		})
	}
}

func TestRetryAfterIsWholeSecondsRoundedUp(t *testing.T) {
	for want, err := range map[time.Duration]error{
		time.Second:      &sessions.BusyError{},
		3 * time.Second:  &sessions.BusyError{RetryAfter: 2001 * time.Millisecond},
		2 * time.Second:  &problem.Refusal{Code: "rate_limited", RetryAfter: 1500 * time.Millisecond},
		60 * time.Second: &problem.Refusal{Code: "rate_limited", RetryAfter: time.Minute},
	} {
		require.Equal(t, want, problem.From(err).RetryAfter)
	}
}

func TestDetailsAreBounded(t *testing.T) {
	var many catalog.FieldErrors
	for i := range 500 {
		many = append(many, catalog.FieldError{Field: fmt.Sprint(i), Message: "x"})
	}
	require.Len(t, problem.From(many).Details, 100)
}

// Whatever the fields that can hold engine text, paths or secrets contain, a client sees
// none of it.
func TestNothingOfACauseGetsOut(t *testing.T) {
	const secret = "SECRET-b-17 /srv/tables/part-0.parquet AKIA123"
	inner := []error{errors.New(secret), fmt.Errorf("%s: %w", secret, io.ErrUnexpectedEOF)}
	var all []error
	for _, r := range problem.Rows() {
		for _, e := range inner {
			all = append(all, fmt.Errorf("%s: %w: %w", secret, r.Sentinel, e), errors.Join(e, r.Sentinel))
		}
	}
	for kind := engine.KindInternal; kind <= engine.KindFatal; kind++ {
		for _, class := range []string{"conversion", "column_not_found", secret} {
			all = append(all, &engine.Error{Kind: kind, Class: class, Name: secret, Text: secret, Position: 4})
		}
	}
	all = append(all, inner...)
	all = append(all, &problem.Refusal{Code: "invalid_body", Cause: errors.New(secret)}, &delta.FeatureError{Feature: "x", Reason: secret})
	for _, err := range all {
		body := send(t, err).Body.String()
		for _, part := range strings.Fields(secret) {
			require.NotContains(t, body, part)
		}
	}
}
