package identity_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// step is an action in a browser, or a check of what it shows: see browser.mjs.
type step = object

// browse runs steps in a headless Chromium, without scripts. The browser may only visit the
// server and the other origins. The server's pages load nothing from elsewhere, and the
// browser complains about nothing on them: blocked styles, forms and frames are errors.
func browse(t *testing.T, s *harness.Server, others []string, steps ...step) {
	t.Helper()
	modules, err := oracletest.Path("LAKEWARDEN_TEST_BROWSER", "browser")
	oracletest.Need(t, err)
	chromium, err := exec.LookPath("chromium")
	oracletest.Need(t, err)
	node, err := exec.LookPath("node")
	oracletest.Need(t, err)
	config, err := json.Marshal(object{
		"chromium": chromium, "origins": append([]string{s.URL}, others...), "scripts": false, "steps": steps,
	})
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), node, "testdata/browser/browser.mjs", string(config)) //nolint:gosec // a part of the tests
	cmd.Env = append(cmd.Environ(), "BROWSER_MODULES="+modules)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	require.NoError(t, err, "%s", failure.String())
	var result struct {
		Error                string
		Violations, Requests []string
	}
	require.NoError(t, json.Unmarshal(out, &result), "%s", out)
	require.Empty(t, result.Error, "%s", result.Error)
	// Chromium reports each page with a status of 400 or more.
	violations := slices.DeleteFunc(result.Violations, func(v string) bool {
		return strings.Contains(v, "the server responded with a status of 4")
	})
	require.Empty(t, violations)
	require.Empty(t, result.Requests, "requests to other servers")
}

// mailedLink waits for an e-mail to an address, removes it, and returns the link in it.
func mailedLink(t *testing.T, s *harness.Server, to, path string) string {
	t.Helper()
	prefix := s.URL + path + "?token="
	var link string
	require.Eventually(t, func() bool {
		files, err := filepath.Glob(filepath.Join(s.Config.MailDir, "*.eml"))
		require.NoError(t, err)
		slices.Sort(files)
		for _, file := range slices.Backward(files) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			// Quoted-printable: soft line breaks and the equals sign.
			plain := strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(string(text))
			if _, rest, found := strings.Cut(plain, prefix); found && strings.Contains(plain, "<"+to+">") {
				link = prefix + strings.Fields(rest)[0]
				require.NoError(t, os.Remove(file))
				return true
			}
		}
		return false
	}, time.Minute, 20*time.Millisecond, "no e-mail to %s", to)
	return link
}

const (
	firstPassword  = "tangerine umbrella on a hill"
	secondPassword = "seven quiet lighthouses"
)

func TestPeopleSetPasswordsAndSignInInABrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	const email = "admin@acme.example"
	s.Client("", "").OK("POST", "/v1/auth/recover", object{"email": strings.ToUpper(email)})
	link := mailedLink(t, s, email, "/set-password")
	for range 2 { // a program that looks at links before the person does
		r, err := http.Get(link)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, http.StatusOK, r.StatusCode)
	}
	browse(t, s, nil,
		step{"open": link}, step{"see": "Set a new password"}, step{"value": object{"E-mail address": email}},
		step{"fill": object{"New password": "password1234", "Repeat the new password": "password1234"}}, step{"click": "Set the password"},
		step{"see": "There is a problem"}, step{"see": "This is too easy to guess"},
		step{"fill": object{"New password": firstPassword, "Repeat the new password": firstPassword}}, step{"click": "Set the password"},
		step{"see": "The new password is set"},
		step{"open": link}, step{"see": "This link does not work"},
		step{"open": s.URL + "/signin"}, step{"focus": "E-mail address"},
		step{"fill": object{"E-mail address": email, "Password": "not the password"}}, step{"click": "Sign in"},
		step{"see": "The e-mail address or the password is wrong."}, step{"value": object{"E-mail address": email, "Password": ""}},
		step{"fill": object{"Password": firstPassword}}, step{"click": "Sign in"},
		step{"url": s.URL + "/signed-in"}, step{"see": "You can close this page."},
		step{"click": "Sign out"}, step{"url": s.URL + "/signed-out"}, step{"click": "Sign in"}, step{"url": s.URL + "/signin"},
		step{"click": "Set a new password"}, step{"fill": object{"E-mail address": email}}, step{"click": "Send the link"},
		step{"see": "Check your e-mail"},
	)
}

func TestPeopleAcceptInvitationsInABrowser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	const email = "new.person@other.example"
	invite := func(role string) string {
		s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/invite", object{"email": email, "role": role})
		return mailedLink(t, s, email, "/accept-invitation")
	}
	link := invite("viewer")
	browse(t, s, nil,
		step{"open": link}, step{"see": "Acme"}, step{"value": object{"E-mail address": email}}, step{"focus": "Your name"},
		step{"fill": object{"Your name": "Ada <b>Lovelace</b>", "New password": firstPassword, "Repeat the new password": secondPassword}},
		step{"click": "Accept"}, step{"see": "The two passwords differ."}, step{"value": object{"Your name": "Ada <b>Lovelace</b>"}},
		step{"fill": object{"New password": firstPassword, "Repeat the new password": firstPassword}}, step{"click": "Accept"},
		step{"url": s.URL + "/signed-in"},
		step{"open": link}, step{"see": "This link does not work"},
	)
	users := s.Admin.OK("GET", "/v1/organisations/"+s.Boot.OrganisationID+"/users", nil)["users"].(list)
	at := slices.IndexFunc(users, func(u any) bool { return u.(object)["email"] == email })
	require.GreaterOrEqual(t, at, 0)
	require.Equal(t, "viewer", users[at].(object)["role"])
	require.Equal(t, "Ada <b>Lovelace</b>", users[at].(object)["displayName"])

	// Somebody with an account accepts with the password of it.
	s.Admin.OK("DELETE", "/v1/organisations/"+s.Boot.OrganisationID+"/users/"+users[at].(object)["userId"].(string), nil)
	link = invite("editor")
	browse(t, s, nil,
		step{"open": link}, step{"see": "You have an account already."},
		step{"fill": object{"Your password": secondPassword}}, step{"click": "Sign in and accept"},
		step{"see": "The e-mail address or the password is wrong."},
		step{"fill": object{"Your password": firstPassword}}, step{"click": "Sign in and accept"},
		step{"url": s.URL + "/signed-in"},
	)
}
