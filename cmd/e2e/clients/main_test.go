//go:build clients

package clients_test

import (
	"bufio"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

func TestMain(m *testing.M) { harness.Main(m, harness.TrustTestServers) }

// Short names of what JSON bodies consist of.
type (
	object = map[string]any
	list   = []any
)

const (
	email    = "ana@acme.example"
	password = "tangerine umbrella"
)

// world is a server that allows open clients, and the browser of a person.
type world struct {
	*harness.Server
	ana     *harness.Client
	browser *harness.Browser
	scripts string // a directory with the scripts and their libraries
	// document is the URL of the document of a client, or empty.
	document string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{browser: harness.NewBrowser(t), scripts: t.TempDir()}
	w.Server = harness.Start(t, func(c *harness.Settings) { c.OpenRegistration, c.AllowPrivateEndpoints = true, true })
	w.ana = w.Member(email, "editor", nil)
	w.Client("", "").OK("POST", "/v1/auth/recover", object{"email": email})
	link := w.MailedToken(email)
	set := w.browser.Submit(w.URL+"/set-password?token="+link, "token", link, "password", password, "repeat", password)
	require.Equal(t, http.StatusOK, set.Status, "%s", set.Body)
	in := w.browser.Submit(w.URL+"/signin", "email", email, "password", password)
	require.Equal(t, http.StatusOK, in.Status, "%s", in.Body)

	installed, err := oracletest.Path("LAKEWARDEN_TEST_CLIENTS", "clients")
	require.NoError(t, err, "make clients installs the libraries")
	require.NoError(t, os.Symlink(filepath.Join(installed, "node_modules"), filepath.Join(w.scripts, "node_modules")))
	require.NoError(t, os.CopyFS(w.scripts, os.DirFS("testdata/clients/scripts")))
	return w
}

// open sets the organisation's setting.
func (w *world) open() {
	w.T.Helper()
	w.Admin.OK("PATCH", "/v1/organisations/"+w.Boot.OrganisationID+"/config", object{"clients": "open"})
}

// run runs a script to its end, answers its requests for authorization, and returns its result.
func (w *world) run(t *testing.T, program, script string, answer func(address string) string) object {
	t.Helper()
	settings, err := json.Marshal(object{"issuer": w.URL, "key": w.Boot.APIKey, "document": w.document})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), program, filepath.Join(w.scripts, script), string(settings)) //nolint:gosec // a part of the tests
	cmd.Env = append(cmd.Environ(), "AUTHLIB_INSECURE_TRANSPORT=1")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var result object
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Open string
			Done object
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &line), "%s", lines.Text())
		if line.Open != "" {
			reply := w.browser.Open(answer(line.Open))
			require.Equal(t, http.StatusOK, reply.Status, "%s", reply.Body)
			continue
		}
		result = line.Done
	}
	require.NoError(t, lines.Err())
	require.NoError(t, cmd.Wait())
	require.NotNil(t, result)
	return result
}

var formToken = regexp.MustCompile(`name="form_token" value="([^"]+)"`)

// decide answers the question for consent, which names what it should, and returns the address to which
// the server leads the browser.
func (w *world) decide(t *testing.T, address, decision string, shown ...string) string {
	t.Helper()
	page := w.browser.Open(address, "Accept", "text/html")
	require.Equal(t, http.StatusOK, page.Status, "%s", page.Body)
	for _, text := range shown {
		require.Contains(t, html.UnescapeString(string(page.Body)), text)
	}
	token := formToken.FindSubmatch(page.Body)
	require.NotNil(t, token, "%s", page.Body)
	reply := w.browser.Post(address, url.Values{"form_token": {html.UnescapeString(string(token[1]))}, "decision": {decision}})
	require.Equal(t, http.StatusSeeOther, reply.Status, "%s", reply.Body)
	to := reply.Header.Get("Location")
	require.True(t, strings.HasPrefix(to, "http://127.0.0.1:"), to)
	return to
}

// allow returns the consent of the person, to a page that names what it should.
func (w *world) allow(t *testing.T, shown ...string) func(string) string {
	return func(address string) string { return w.decide(t, address, "allow", shown...) }
}

// node returns the program that runs JavaScript.
func node(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("node")
	require.NoError(t, err, "Node.js is needed")
	return path
}
