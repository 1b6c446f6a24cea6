package identity_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// joining returns the use case, and a function that invites an address and returns the
// token of the link.
func (p *people) joining(t *testing.T) (identity.Joining, func(email string) string) {
	invitations := p.invitations()
	return identity.Joining{Invitations: invitations, Passwords: p.pw, SignIn: p.signIn}, func(email string) string {
		t.Helper()
		require.NoError(t, invite(p.as(p.ada, auth.MethodJWT), invitations, p.org, email, catalog.RoleEditor))
		sent := p.outbox.sent(t)
		require.Len(t, sent, 1)
		require.Equal(t, email, sent[0].To)
		_, rest, found := strings.Cut(sent[0].Text, "https://lake.example/accept-invitation?token=")
		require.True(t, found, sent[0].Text)
		token, err := url.QueryUnescape(strings.Fields(rest)[0])
		require.NoError(t, err)
		return token
	}
}

func TestANewPersonAcceptsWithANewPassword(t *testing.T) {
	p := newPeople(t)
	join, invited := p.joining(t)
	token := invited(nobody)
	for range 2 {
		open, err := join.Open(t.Context(), token)
		require.NoError(t, err)
		require.False(t, open.Password)
		require.Equal(t, "Acme", open.Organisation)
	}
	for field, values := range map[string][2]string{"password": {"Nobody", "short"}, "display_name": {"  ", better}} {
		_, err := join.WithNewPassword(t.Context(), token, values[0], values[1], from)
		var fields catalog.FieldErrors
		require.ErrorAs(t, err, &fields)
		require.Equal(t, field, fields[0].Field, "an invalid form does not use the link up")
	}
	in, err := join.WithNewPassword(t.Context(), token, " Nobody ", better, from)
	require.NoError(t, err)
	user := catalog.UserID(in.Session.User.String())
	member, err := p.raw.Membership(t.Context(), p.org, user)
	require.NoError(t, err)
	require.Equal(t, catalog.RoleEditor, member.Role)
	require.Equal(t, "Nobody", member.DisplayName)
	_, err = p.signIn.Browser(t.Context(), in.Cookie)
	require.NoError(t, err)
	_, err = join.WithNewPassword(t.Context(), token, "Nobody", good, from)
	require.ErrorIs(t, err, identity.ErrLink)
	_, err = p.signIn.Password(t.Context(), nobody, better, from)
	require.NoError(t, err)
}

// TestTheFirstPasswordIsANewPassword checks that a person who has signed in without a
// password so far, such as by single sign-on, sets one by an invitation with all that follows.
func TestTheFirstPasswordIsANewPassword(t *testing.T) {
	p := newPeople(t)
	join, invited := p.joining(t)
	bob := p.user("bob@acme.example")
	open := p.session(bob)
	require.NoError(t, p.recover.Request(t.Context(), "bob@acme.example", from))
	link := tokenOf(t, p.outbox.sent(t)[0])
	in, err := join.WithNewPassword(t.Context(), invited("bob@acme.example"), "Bob", better, from)
	require.NoError(t, err)
	require.False(t, p.live(open))
	require.True(t, p.live(in.Session))
	_, err = p.recover.Account(t.Context(), link)
	require.ErrorIs(t, err, identity.ErrLink, "no other link sets another password")
	entry := p.audit.last("password.set")
	require.Equal(t, []string{string(bob), remote, "request"}, []string{string(entry.User), entry.Remote, entry.RequestID})
}

func TestAKnownPersonAcceptsWithTheOwnPassword(t *testing.T) {
	p := newPeople(t)
	join, invited := p.joining(t)
	bob := p.user("bob@acme.example")
	require.NoError(t, p.pw.Set(t.Context(), bob, better, from))
	token := invited("bob@acme.example")
	open, err := join.Open(t.Context(), token)
	require.NoError(t, err)
	require.True(t, open.Password)

	_, err = join.WithPassword(t.Context(), token, good, from)
	require.ErrorIs(t, err, identity.ErrCredential)
	_, err = join.WithNewPassword(t.Context(), token, "Bob", good, from)
	require.ErrorIs(t, err, catalog.ErrExists, "a link does not replace the password of an account")
	_, err = p.signIn.Password(t.Context(), "bob@acme.example", better, from)
	require.NoError(t, err)
	_, err = p.raw.Membership(t.Context(), p.org, bob)
	require.ErrorIs(t, err, catalog.ErrNotFound)

	in, err := join.WithPassword(t.Context(), token, better, from)
	require.NoError(t, err)
	require.Equal(t, string(bob), in.Session.User.String())
	_, err = p.raw.Membership(t.Context(), p.org, bob)
	require.NoError(t, err)
	_, err = join.WithPassword(t.Context(), token, better, from)
	require.ErrorIs(t, err, identity.ErrLink)
}

func TestUnknownLinksOfInvitations(t *testing.T) {
	p := newPeople(t)
	join, _ := p.joining(t)
	for _, token := range []string{"", "unknown"} {
		_, err := join.Open(t.Context(), token)
		require.ErrorIs(t, err, identity.ErrLink)
		_, err = join.WithPassword(t.Context(), token, good, from)
		require.ErrorIs(t, err, identity.ErrLink)
		_, err = join.WithNewPassword(t.Context(), token, "Name", good, from)
		require.ErrorIs(t, err, identity.ErrLink)
	}
	require.Empty(t, p.hasher.sources)
}
