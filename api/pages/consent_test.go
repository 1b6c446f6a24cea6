package pages_test

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/auth/session"
)

func TestConsentToAClientThatNobodyVouchesFor(t *testing.T) {
	s := newSite(t)
	require.NotContains(t, s.get(next).text, "Nobody has checked")
	for _, c := range []struct {
		publisher, redirect string
		native              bool
		shown, hidden       []string
	}{
		{"", "app.example", false, []string{"<strong>app.example</strong>"}, []string{"published by", "this computer"}},
		{"notes.example", "app.example", false, []string{"published by <strong>notes.example</strong>"}, []string{"this computer"}},
		{"", "127.0.0.1:7", true, []string{"a program on this computer"}, []string{"published by"}},
	} {
		s.ask = oauth.ConsentRequest{Client: oauth.Client{Name: hostile, Open: true, Publisher: c.publisher}, Redirect: c.redirect,
			Native: c.native, Org: uuid.New()}
		text := s.get(next).text
		require.Contains(t, text, "Nobody has checked this program")
		require.NotContains(t, text, "your other organisations", "it gets tokens for one")
		for _, want := range c.shown {
			require.Contains(t, text, want)
		}
		for _, other := range c.hidden {
			require.NotContains(t, text, other)
		}
		require.NotContains(t, text, hostile)
	}
}

func TestConsentToBeKnownIsAsked(t *testing.T) {
	s := newSite(t)
	require.NotContains(t, s.get(next).text, "Learn who you are")
	page := s.get(next)
	s.ask.OpenID = true
	require.Contains(t, s.get(next).text, "<li>Learn who you are: your e-mail address and your name</li>")
	s.send(s.form(next, s.token(page), "decision", "allow"))
	require.Empty(t, s.useCases.changes, "the page did not say so")
}

func TestPeopleChooseAnOrganisation(t *testing.T) {
	s := newSite(t)
	s.among = []session.Organisation{{ID: uuid.New(), Name: "Acme"}, {ID: uuid.New(), Name: hostile}}
	page := s.get("/oauth2/authorize?client_id=x&org=" + uuid.NewString())
	require.Equal(t, http.StatusOK, page.StatusCode)
	require.NotContains(t, page.text, hostile)
	for _, o := range s.among {
		require.Contains(t, html.UnescapeString(page.text), `<a href="/oauth2/authorize?client_id=x&org=`+o.ID.String()+`">`)
	}
	require.Equal(t, 2, strings.Count(page.text, "<li>"))
	require.Empty(t, s.useCases.changes)
}

func TestNewSignInsReplaceTheOneBefore(t *testing.T) {
	s := newSite(t)
	s.signInAs(t)
	s.useCases.changes = nil
	r := s.submit("/signin", "/signin", "email", ada, "password", good)
	require.Equal(t, http.StatusOK, r.StatusCode, r.text)
	require.Contains(t, s.useCases.changes, "replace sign-in")
}
