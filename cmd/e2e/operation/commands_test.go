package operation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/duckdb"
)

func TestTheCommandLine(t *testing.T) {
	p := harness.NewProgram(t)
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"-h"}} {
		stdout, _, err := p.Run(args...)
		require.NoError(t, err)
		for _, name := range []string{"serve", "demo", "bootstrap", "user", "domain", "migrate", "keys", "extensions", "healthcheck", "version"} {
			require.Contains(t, stdout, "\n  "+name+" ")
		}
		require.NotContains(t, stdout, "worker")
	}
	for _, args := range [][]string{{"serve", "--help"}, {"bootstrap", "--help"}, {"user", "add", "--help"}, {"demo", "-h"},
		{"keys", "rotate", "--help"}} {
		stdout, stderr, err := p.Run(args...)
		require.NoError(t, err, args)
		require.Contains(t, stdout+stderr, "data-dir", args)
	}
	for _, args := range [][]string{{"user", "--help"}, {"domain", "--help"}, {"keys", "-h"}, {"extensions", "help"}} {
		stdout, _, err := p.Run(args...)
		require.NoError(t, err, args)
		require.Contains(t, stdout, "Usage: lakewarden "+args[0], args)
	}
	// Flags behind a stray word would be ignored.
	_, misplaced, err := p.Run("bootstrap", "here", "--org", "Acme", "--email", "ada@acme.example")
	require.Error(t, err)
	require.Contains(t, misplaced, `unexpected argument "here"`)
	for _, args := range [][]string{{"fly"}, {"serve", "--no-such"}, {"bootstrap"}, {"user"},
		{"user", "remove"}, {"domain"}, {"domain", "verify"}, {"user", "add", "--org", "x", "--email", "a@b.example"}, {"extensions"}, {"keys"}, {"keys", "remove"}, {"worker"}} {
		_, stderr, err := p.Run(args...)
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, args)
		require.Equal(t, 1, exit.ExitCode())
		require.NotEmpty(t, stderr, args)
		require.NotContains(t, stderr, "goroutine")
	}
	for range 2 {
		_, stderr, err := p.Run("keys", "rotate")
		require.NoError(t, err, stderr)
	}
	stdout, _, err := p.Run("version")
	require.NoError(t, err)
	require.Contains(t, stdout, duckdb.Version())
	for _, flag := range []string{"--version", "-version", "-v"} {
		same, _, err := p.Run(flag)
		require.NoError(t, err, flag)
		require.Equal(t, stdout, same, flag)
	}

	for range 2 {
		_, stderr, err := p.Run("migrate")
		require.NoError(t, err, "%s", stderr)
	}
	boot := p.JSON("bootstrap", "--org", "Acme", "--email", "ada@acme.example", "--json")
	require.Len(t, boot, 4)
	user := p.JSON("user", "add", "--org", boot["organisation_id"].(string), "--email", "vic@acme.example", "--role", "viewer", "--json")
	require.Len(t, user, 2)
	_, stderr, err := p.Run("user", "add", "--org", boot["organisation_id"].(string), "--email", "vic@acme.example", "--role", "boss",
		"--json")
	require.Error(t, err)
	require.Contains(t, stderr, "role")

	// Also while the server runs.
	server, log := p.Serve()
	require.ElementsMatch(t, harness.AdminScopes, harness.ScopesOf(t, p.Client(boot["api_key"].(string)).OK("GET", "/v1/me", nil)))
	require.ElementsMatch(t, harness.ViewerScopes, harness.ScopesOf(t, p.Client(user["api_key"].(string)).OK("GET", "/v1/me", nil)))
	late := p.JSON("user", "add", "--org", boot["organisation_id"].(string), "--email", "late@acme.example", "--role", "editor", "--json")
	harness.Within(t, "a new key", func() bool { return p.Client(late["api_key"].(string)).Call("GET", "/v1/me", nil).Status == 200 })
	_, _, err = p.Run("healthcheck")
	require.NoError(t, err)
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait(), "%s", log)
	_, _, err = p.Run("healthcheck")
	require.Error(t, err)
	for line := range strings.Lines(log.String()) {
		require.True(t, json.Valid([]byte(line)), "logs are JSON: %s", line)
	}
	require.NotContains(t, log.String(), boot["api_key"])
}

func TestDemoIsCreatedOnce(t *testing.T) {
	p := harness.NewProgram(t)
	first := p.JSON("demo", "--json")
	require.Equal(t, first, p.JSON("demo", "--json"))
	tour, _, err := p.Run("demo")
	require.NoError(t, err)
	require.Contains(t, tour, "curl")
	require.Contains(t, tour, p.Address)
	server, log := p.Serve()
	key := func(who string) *harness.Client { return p.Client(first[who].(map[string]any)["api_key"].(string)) }
	tables := key("admin").OK("GET", "/v1/tables", nil)["tables"].([]any)
	require.Len(t, tables, 6)
	all, ana, ben := key("admin").Count("nycflights.planes"), key("ana").Count("nycflights.flights"), key("ben").Count("nycflights.flights")
	require.Greater(t, all, 3000.0)
	require.Greater(t, ana, 1000.0)
	require.Greater(t, ben, 1000.0)
	require.NotEqual(t, ana, ben)
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait(), "%s", log)
}

// lineCounter counts the lines that are written to it.
type lineCounter int

func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

// TestTheServerDrains ends the server while a statement runs: readiness fails,
// then new requests are refused, the statement finishes, and the next start has all
// data.
func TestTheServerDrains(t *testing.T) {
	p := harness.NewProgram(t)
	p.Env = append(p.Env, "LAKEWARDEN_DRAIN_NOTICE=6s")
	boot := p.JSON("bootstrap", "--org", "Acme", "--email", "ada@acme.example", "--json")
	root := filepath.Join(p.Dir, "data/storage/main")
	harness.WriteTable(t, filepath.Join(root, "t"), `SELECT i AS id FROM range(100) t(i)`, nil, column{"id", "long"})
	server, log := p.Serve()
	c := p.Client(boot["api_key"].(string))
	config := c.OK("POST", harness.ConfigsPath, map[string]any{"configName": "main", "kind": "local", "root": "main",
		"workspaceId": boot["workspace_id"]})
	c.OK("POST", "/v1/organisations/"+boot["organisation_id"].(string)+"/policies",
		map[string]any{"tableFqn": "lake." + config["schema"].(string) + ".t",
			"definition": harness.Definition(`{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":7}}`)})

	// A result that is read slowly keeps its statement in flight. The server does not wait
	// for a client that reads less than 1 MiB a second.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/query",
		strings.NewReader(`{"sql":"SELECT i, 'some text to fill buffers with ' || i FROM range(3000000) t(i)"}`))
	require.NoError(t, err)
	for name, value := range map[string]string{"Authorization": "Bearer " + c.Key, "Content-Type": "application/json", "Accept": "text/csv"} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	var lines lineCounter // and not the text: this process shares its memory with the servers of other tests
	refused, read := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-refused:
				_, err := io.Copy(&lines, resp.Body)
				read <- err
				return
			case <-time.After(20 * time.Millisecond):
				if _, err := io.CopyN(&lines, resp.Body, 64<<10); err != nil {
					read <- err
					return
				}
			}
		}
	}()
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return readiness(p, t) == http.StatusServiceUnavailable }, time.Minute, 10*time.Millisecond,
		"a load balancer is told")
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", p.Address)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	}, time.Minute, 10*time.Millisecond, "nothing new is taken on")
	close(refused)
	require.NoError(t, <-read)
	require.EqualValues(t, 3000001, lines, "the statement in flight finished")
	require.Equal(t, "false", resp.Trailer.Get("X-Truncated"))
	require.NoError(t, server.Wait(), "%s", log)
	require.Contains(t, log.String(), "draining")

	server, log = p.Serve()
	require.Equal(t, 7.0, c.Count(config["schema"].(string)+".t"))
	require.Equal(t, config["configId"], c.OK("GET", harness.ConfigsPath, nil)["configs"].([]any)[0].(map[string]any)["configId"])
	audit := c.OK("GET", "/v1/organisations/"+boot["organisation_id"].(string)+"/audit?action=query.run", nil)["entries"].([]any)
	require.GreaterOrEqual(t, len(audit), 1, "what the drained server recorded was stored")
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait(), "%s", log)
	leftovers, err := filepath.Glob(filepath.Join(p.Dir, "data/tmp/*/*"))
	require.NoError(t, err)
	require.Empty(t, leftovers)
}

// readiness is what a new connection hears from /readyz.
func readiness(p *harness.Program, t *testing.T) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.Address+"/readyz", nil)
	require.NoError(t, err)
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// TestWrongExtensionFileStopsTheStart checks that the error names the file and the
// remedy.
func TestWrongExtensionFileStopsTheStart(t *testing.T) {
	t.Parallel()
	p := harness.NewProgram(t)
	good := ""
	for _, entry := range p.Env {
		if dir, ok := strings.CutPrefix(entry, "LAKEWARDEN_EXTENSION_DIR="); ok {
			good = dir
		}
	}
	found, err := filepath.Glob(filepath.Join(good, duckdb.Version(), "*", "delta.duckdb_extension"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	whole, err := os.ReadFile(found[0])
	require.NoError(t, err)
	relative, err := filepath.Rel(good, found[0])
	require.NoError(t, err)
	tampered := bytes.Clone(whole)
	tampered[len(tampered)/2] ^= 1
	for name, content := range map[string][]byte{"missing": nil, "empty": {}, "garbage": []byte("no library"),
		"truncated": whole[:len(whole)/2], "tampered": tampered} {
		dir := t.TempDir()
		file := filepath.Join(dir, relative)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		if content != nil {
			require.NoError(t, os.WriteFile(file, content, 0o644))
		}
		p.Env = append(p.Env, "LAKEWARDEN_EXTENSION_DIR="+dir)
		_, stderr, err := p.Run("serve")
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, name)
		require.Contains(t, stderr, "delta", name)
		require.Contains(t, stderr, "extensions install", name)
		require.NotContains(t, stderr, "goroutine", name)
	}
}

func TestWrongSettingsStopTheStartAndAreNamed(t *testing.T) {
	t.Parallel()
	for setting, value := range map[string]string{
		"LISTEN": "nonsense", "LOG_LEVEL": "loud", "MEMORY_MIB": "12", "THREADS": "0", "QUERY_TIMEOUT": "-1s", "DATABASE_URL": "mysql://x",
		"NO_SUCH":        "1",
		"QUERY_TIMEOUT_": "1s", "CONFIG": "/nowhere/lakewarden.yaml", "MAX_RUNNING": "many",
	} {
		p := harness.NewProgram(t)
		p.Env = append(p.Env, "LAKEWARDEN_"+setting+"="+value)
		_, stderr, err := p.Run("serve")
		require.Error(t, err, setting)
		name := strings.ToLower(setting)
		if setting == "CONFIG" {
			name = "/nowhere/lakewarden.yaml"
		}
		require.Contains(t, strings.ToLower(stderr), name, setting)
		last := strings.TrimSpace(stderr[strings.LastIndex(stderr, "lakewarden: "):])
		require.NotContains(t, last, "\n", "one line a mistake")
	}
}

// TestHelpOfCommandsNamesTheSettings checks that the help of a command lists its required
// flags and refers to the settings.
func TestHelpOfCommandsNamesTheSettings(t *testing.T) {
	t.Parallel()
	p := harness.NewProgram(t)
	for _, args := range [][]string{{"bootstrap", "--help"}, {"user", "add", "--help"}, {"user", "key", "--help"}} {
		stdout, stderr, err := p.Run(args...)
		require.NoError(t, err)
		require.Equal(t, 2, strings.Count(stdout+stderr, "(required)"), args)
		require.Contains(t, stdout+stderr, "lakewarden serve --help", args)
	}
}

// TestMemberIsAddedOnce checks that adding a member again fails and names the member and
// the organisation.
func TestMemberIsAddedOnce(t *testing.T) {
	t.Parallel()
	p := harness.NewProgram(t)
	org := p.JSON("bootstrap", "--org", "Acme", "--email", "ada@acme.example", "--json")["organisation_id"].(string)
	_, stderr, err := p.Run("user", "add", "--org", org, "--email", "ada@acme.example")
	require.Error(t, err)
	require.Contains(t, stderr, "ada@acme.example is already a member of the organisation "+org)
}
