package pages_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/catalog"
)

// propose gives the browser the cookie of a proposal.
func (s *site) propose(t testing.TB) {
	t.Helper()
	u, err := url.Parse(s.url)
	require.NoError(t, err)
	s.Jar.SetCookies(u, []*http.Cookie{{Name: "lakewarden-identity", Value: proposed, Path: "/"}})
}

// own makes the account of the browser the one of the proposal.
func (s *site) own() {
	for _, of := range s.live {
		s.confirmations.own = of
	}
}

func TestSignInsAreConfirmedByTheAccountWithTheAddress(t *testing.T) {
	s := newSite(t)
	s.propose(t)
	r := s.get(identity.ConfirmPath)
	require.Equal(t, http.StatusForbidden, r.StatusCode)
	require.Contains(t, r.text, "https://idp.example")
	require.Contains(t, r.text, "/signin?return_to=%2Fconfirm-identity")
	require.NotContains(t, r.text, "<form", "nobody has signed in")

	signedIn := s.submit("/signin?return_to=%2Fconfirm-identity", identity.SignInPath, "email", ada, "password", good,
		"return_to", "/confirm-identity")
	require.Contains(t, signedIn.text, "url=/confirm-identity")
	r = s.get(identity.ConfirmPath)
	require.Equal(t, http.StatusForbidden, r.StatusCode, "another account")
	s.own()
	s.changes = nil
	r = s.get(identity.ConfirmPath)
	require.Equal(t, http.StatusOK, r.StatusCode)
	token := s.token(r)
	require.Empty(t, s.changes, "the page itself confirms nothing")

	// The form is for the sign-in that it shows.
	s.Jar.SetCookies(r.Request.URL, []*http.Cookie{{Name: "lakewarden-identity", Value: "another", Path: "/"}})
	require.Equal(t, http.StatusForbidden, s.send(s.form(identity.ConfirmPath, token)).StatusCode)
	s.propose(t)
	for problem, status := range map[error]int{
		catalog.ErrNotFound: http.StatusForbidden, &catalog.ExistsError{Field: "subject"}: http.StatusConflict,
		catalog.ErrUnavailable: http.StatusServiceUnavailable,
	} {
		s.confirmations.fail = problem
		require.Equal(t, status, s.send(s.form(identity.ConfirmPath, token)).StatusCode)
	}
	s.confirmations.fail = nil
	require.Empty(t, s.changes)
	r = s.send(s.form(identity.ConfirmPath, token))
	require.Equal(t, http.StatusOK, r.StatusCode, r.text)
	require.Equal(t, []string{"confirm"}, s.changes)
	require.Contains(t, r.text, "return_to="+url.QueryEscape(next), "the sign-in goes on where it was to go on")
}

func TestTokensAreConfirmedBySignedInPeople(t *testing.T) {
	s := newSite(t)
	r := s.get(identity.ConfirmPath)
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	require.Equal(t, "/signin?return_to=%2Fconfirm-identity", r.Header.Get("Location"))
	s.signInAs(t)
	s.changes = nil
	r = s.submit(identity.ConfirmPath, identity.ConfirmPath, "token", "wrong")
	require.Equal(t, http.StatusUnprocessableEntity, r.StatusCode)
	require.NotContains(t, r.text, "wrong")
	require.Empty(t, s.changes)
	r = s.submit(identity.ConfirmPath, identity.ConfirmPath, "token", " "+good+"\n")
	require.Equal(t, http.StatusOK, r.StatusCode, r.text)
	require.Equal(t, []string{"confirm token"}, s.changes)
	r = s.submit(identity.ConfirmPath, identity.ConfirmPath)
	require.Equal(t, http.StatusBadRequest, r.StatusCode, "without a proposal")
}
