package problem_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// TestRefusedStatementsNameTheRouteThatDoesIt checks that the refusal of a statement
// which is not supported as SQL names a route of the API with the same effect.
func TestRefusedStatementsNameTheRouteThatDoesIt(t *testing.T) {
	parser := duckdb.NewParser()
	t.Cleanup(func() { require.NoError(t, parser.Close()) })
	raw, err := os.ReadFile("../../docs/openapi.json")
	require.NoError(t, err)
	var description struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(raw, &description))
	route := regexp.MustCompile(`(GET|POST|PUT|PATCH|DELETE) (/v1/[a-z_/{}-]+)`)
	for sql, want := range map[string]string{
		"INSERT INTO t VALUES (1)":                                       "/rows",
		"-- first\n/* then */ insert into t select 1":                    "/rows",
		"WITH a AS (SELECT 'update' AS x) INSERT INTO t SELECT * FROM a": "/rows",
		"UPDATE t SET a = 1":                                             "/rows/update",
		"with a as (select 1) update t set a = 1":                        "/rows/update",
		"DELETE FROM t":                                                  "/rows/delete",
		"TRUNCATE t":                                                     "/rows/delete",
		"EXPLAIN ANALYZE DELETE FROM t":                                  "/rows/delete",
		"MERGE INTO t USING s USING (id) WHEN MATCHED THEN DELETE":       "/rows/merge",
		"COPY t FROM 'x.csv'":                                            "/rows",
		"COPY t TO 'x.csv'":                                              "/v1/query",
		"IMPORT DATABASE 'x'":                                            "/rows",
		"EXPORT DATABASE 'x'":                                            "/v1/query",
		"CREATE TABLE t (a INT)":                                         "/v1/tables",
		"CREATE TABLE t AS SELECT 1":                                     "/v1/tables",
		"DROP TABLE t":                                                   "{table_name}",
		"ALTER TABLE t ADD COLUMN a INT":                                 "/columns",
		"COMMENT ON COLUMN t.a IS 'x'":                                   "/columns/{column}",
		"VACUUM":                                                         "/vacuum",
		"ATTACH 'x' AS y":                                                "/v1/storages/configs",
		"USE x":                                                          "",
		"PREPARE a AS SELECT 1":                                          "",
		"EXECUTE a":                                                      "",
		"BEGIN":                                                          "",
		"COMMIT":                                                         "",
		"ROLLBACK":                                                       "",
	} {
		t.Run(sql, func(t *testing.T) {
			_, err := sqlguard.Parse(t.Context(), parser, sql, sqlguard.Options{})
			var refused *refusal.Error
			require.ErrorAs(t, err, &refused)
			require.Equal(t, refusal.CodeStatement, refused.Code)
			body := replyTo(t, err)
			require.Equal(t, "statement_not_allowed", body.Code)
			require.Len(t, body.Details, 1)
			message := body.Details[0].Message
			_, hint, found := strings.Cut(message, "are served; ")
			require.True(t, found, message)
			require.Regexp(t, `^line \d+, column \d+: `, message)
			routes := route.FindAllStringSubmatch(hint, -1)
			require.Equal(t, want != "", len(routes) > 0, message)
			named := false
			for _, r := range routes {
				operations := description.Paths[r[2]]
				require.NotNil(t, operations[strings.ToLower(r[1])], r[0])
				named = named || strings.HasSuffix(r[2], want)
			}
			require.True(t, named || want == "", message)
		})
	}
	_, err = sqlguard.Parse(t.Context(), parser, "WITH a AS (DELETE FROM t RETURNING id) SELECT * FROM a", sqlguard.Options{})
	require.Error(t, err)
}

func replyTo(t *testing.T, err error) problem.Body {
	t.Helper()
	var reply *problem.Reply
	require.ErrorAs(t, problem.Respond(context.Background(), err, false), &reply)
	raw, marshalErr := json.Marshal(reply)
	require.NoError(t, marshalErr)
	var body problem.Body
	require.NoError(t, json.Unmarshal(raw, &body))
	return body
}
