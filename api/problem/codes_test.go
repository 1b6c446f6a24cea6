package problem_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/engine/delta"
)

var update = flag.Bool("update", false, "write docs/errors.md from the table")

const docs = "../../docs/errors.md"

func TestEveryCodeIsWellFormed(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]{2,39}$`)
	seen := map[string]bool{}
	for _, c := range problem.Codes {
		require.Regexp(t, name, c.Name)
		require.False(t, seen[c.Name], "%s twice", c.Name)
		seen[c.Name] = true
		require.NotEmpty(t, c.When, c.Name)
		if slices.Contains(problem.EmptyStatuses, c.Status) {
			require.Empty(t, c.Message, c.Name)
			continue
		}
		require.Contains(t, problem.Statuses, c.Status, c.Name)
		require.True(t, strings.HasSuffix(c.Message, "."), c.Name)
		require.NotContains(t, c.Message+c.When, "|", "breaks the table of the documentation")
	}
	require.Len(t, problem.Statuses, 9)
	require.Len(t, problem.EmptyStatuses, 2)
}

// TestEveryReasonIsInTheTable checks that each delta.Reason has one entry in
// TableReasons, with a code of refused tables.
func TestEveryReasonIsInTheTable(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(root, "engine/delta/refusal.go"))
	require.NoError(t, err)
	var declared, listed []string
	for _, m := range regexp.MustCompile(`(?m)^\tReason\w+ Reason = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		declared = append(declared, m[1])
	}
	for _, r := range problem.TableReasons {
		listed = append(listed, string(r.Name))
		p := problem.From(&delta.RefusalError{Reason: r.Name, Name: "part=secret/x", Err: errors.New("/srv/data")})
		require.Equal(t, 409, p.Status)
		require.Equal(t, r.Code, p.Name)
		require.Equal(t, []problem.Detail{{Field: "reason", Message: string(r.Name)}}, p.Details)
	}
	require.NotEmpty(t, declared)
	require.ElementsMatch(t, declared, listed)
}

// The description of a code that is never sent says so, and that of any other code does
// not.
func TestReservedCodesAreThoseThatNothingSends(t *testing.T) {
	var sources strings.Builder
	for _, top := range []string{"api", "auth", "catalog", "cmd", "engine", "sessions"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || entry.Name() == "codes.go" {
				return err
			}
			text, err := os.ReadFile(path)
			sources.Write(text)
			return err
		}))
	}
	for _, c := range problem.Codes {
		sent := strings.Contains(sources.String(), `"`+c.Name+`"`)
		require.Equal(t, sent, !strings.HasPrefix(c.When, "Reserved, not sent yet"), c.Name)
	}
}

// The documentation is generated from the table by go test -tags duckdb_arrow
// ./api/problem -update.
func TestDocumentationListsEveryCode(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Errors\n\nEvery error has the same body: `code`, `message`, `request_id` and `details`, a list of `{field, message}`.\n" +
		"`request_id` is also in the header `X-Request-Id` of every reply. 405 and 413 have no body; 405 names the methods in `Allow`.\n" +
		"429 and 503 carry `Retry-After` in seconds. Match on `code`: messages may change.\n")
	status := 0
	for _, c := range problem.Codes {
		if c.Status != status {
			status = c.Status
			fmt.Fprintf(&b, "\n## %d %s\n\n| code | message | when |\n|---|---|---|\n", status, http.StatusText(status))
		}
		message := c.Message
		if message == "" {
			message = "(no body)"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, message, c.When)
	}
	b.WriteString("\n## Reasons of refused tables\n\n`details` of a table that cannot be read have the field `reason`. Callers who see all " +
		"rows and columns of the table and may\n" +
		"modify it also get the field `file`: the path below the table's folder of the file at fault. Full paths are in the server's log " +
		"only.\n\n" +
		"| reason | code | when |\n|---|---|---|\n")
	for _, r := range problem.TableReasons {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", r.Name, r.Code, r.When)
	}
	if *update {
		require.NoError(t, os.WriteFile(docs, []byte(b.String()), 0o644))
	}
	have, err := os.ReadFile(docs)
	require.NoError(t, err)
	require.Equal(t, b.String(), string(have), "run go test -tags duckdb_arrow ./api/problem -update")
}
