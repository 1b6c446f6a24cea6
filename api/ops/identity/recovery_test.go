package identity_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/mail"
	"github.com/lakewarden/lakewarden/auth/password"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
)

// tokenOf returns the token in the link of an e-mail.
func tokenOf(t *testing.T, m mail.Message) string {
	t.Helper()
	_, rest, found := strings.Cut(m.Text, "https://lake.example/set-password?token=")
	require.True(t, found, m.Text)
	token, err := url.QueryUnescape(strings.Fields(rest)[0])
	require.NoError(t, err)
	return token
}

func TestALinkSetsThePasswordOnceAndEndsSessions(t *testing.T) {
	p := newPeople(t)
	ctx := t.Context()
	open, other := p.session(p.ada), p.session(p.user("bob@acme.example"))
	require.NoError(t, p.recover.Request(ctx, "Ada@Acme.example", from))
	sent := p.outbox.sent(t)
	require.Len(t, sent, 1)
	require.Equal(t, ada, sent[0].To)
	token := tokenOf(t, sent[0])

	for range 2 {
		email, err := p.recover.Account(ctx, token)
		require.NoError(t, err, "looking at the page does not use the link up")
		require.Equal(t, ada, email)
	}
	require.ErrorIs(t, p.recover.SetPassword(ctx, token, "short", from), catalog.ErrInvalid)
	require.ErrorIs(t, p.recover.SetPassword(ctx, token, ada, from), catalog.ErrInvalid)
	require.NoError(t, p.recover.SetPassword(ctx, token, better, from), "an invalid password does not use the link up")
	require.ErrorIs(t, p.recover.SetPassword(ctx, token, good, from), identity.ErrLink)
	_, err := p.recover.Account(ctx, token)
	require.ErrorIs(t, err, identity.ErrLink)

	require.False(t, p.live(open))
	require.True(t, p.live(other), "sessions of other people go on")
	_, err = p.signIn.Password(ctx, ada, good, from)
	require.ErrorIs(t, err, identity.ErrCredential)
	_, err = p.signIn.Password(ctx, ada, better, from)
	require.NoError(t, err)
}

func TestANewLinkWithdrawsFormerOnes(t *testing.T) {
	p := newPeople(t)
	var tokens []string
	for range 3 {
		require.NoError(t, p.recover.Request(t.Context(), ada, from))
		tokens = append(tokens, tokenOf(t, p.outbox.sent(t)[0]))
	}
	for i, token := range tokens {
		_, err := p.recover.Account(t.Context(), token)
		if i < 2 {
			require.ErrorIs(t, err, identity.ErrLink)
		} else {
			require.NoError(t, err)
		}
	}
	require.NoError(t, p.pw.Set(t.Context(), p.ada, better, from))
	_, err := p.recover.Account(t.Context(), tokens[2])
	require.ErrorIs(t, err, identity.ErrLink, "a new password withdraws the links")
}

// busyHasher hashes nothing.
type busyHasher struct{ identity.Hasher }

func (busyHasher) Hash(context.Context, password.Source, string) (string, error) {
	return "", password.ErrBusy
}

func TestABusyServerDoesNotUseALinkUp(t *testing.T) {
	p := newPeople(t)
	require.NoError(t, p.recover.Request(t.Context(), ada, from))
	token := tokenOf(t, p.outbox.sent(t)[0])
	busy := p.recover
	busy.Passwords.Hasher = busyHasher{p.hasher}
	require.ErrorIs(t, busy.SetPassword(t.Context(), token, better, from), password.ErrBusy)
	require.NoError(t, p.recover.SetPassword(t.Context(), token, better, from))
}

func TestALinkExpiresAfterAnHour(t *testing.T) {
	p := newPeople(t)
	require.NoError(t, p.recover.Request(t.Context(), ada, from))
	token := tokenOf(t, p.outbox.sent(t)[0])
	p.advance(59 * time.Minute)
	_, err := p.recover.Account(t.Context(), token)
	require.NoError(t, err)
	p.advance(2 * time.Minute)
	require.ErrorIs(t, p.recover.SetPassword(t.Context(), token, better, from), identity.ErrLink)
}

func TestTheReplyDoesNotTellWhetherAnAddressIsKnown(t *testing.T) {
	p := newPeople(t)
	for _, email := range []string{ada, nobody} {
		p.store.reset()
		require.NoError(t, p.recover.Request(t.Context(), email, from))
		require.Empty(t, p.store.calls, "nothing is looked up before the reply")
		require.Len(t, p.outbox.waiting, 1)
		if email == nobody {
			require.Empty(t, p.outbox.sent(t))
		} else {
			require.Len(t, p.outbox.sent(t), 1)
		}
	}
	p.outbox.full = true
	for _, email := range []string{ada, nobody} {
		require.ErrorIs(t, p.recover.Request(t.Context(), email, from), identity.ErrMailBusy)
	}
}

func TestNoLinkIsSentWhereAPasswordIsOfNoUse(t *testing.T) {
	p := newPeople(t)
	p.usable.Store(false)
	require.NoError(t, p.recover.Request(t.Context(), ada, from))
	require.Empty(t, p.outbox.sent(t))
}

func TestOneAddressGetsFewEMails(t *testing.T) {
	p := newPeople(t)
	send := func(n int) int {
		for range n {
			require.NoError(t, p.recover.Request(t.Context(), ada, from))
		}
		return len(p.outbox.sent(t))
	}
	require.Equal(t, 5, send(20))
	require.Zero(t, send(20))
	p.advance(5 * time.Hour)
	require.Equal(t, 5, send(20))
}

func TestAFloodOfRequestsHasFewEntries(t *testing.T) {
	p := newPeople(t)
	for range 40 {
		require.NoError(t, p.recover.Request(t.Context(), ada, from))
	}
	require.Len(t, p.audit.entries, 5+1, "as many as e-mails, and one beyond them")
	p.advance(time.Minute + time.Second)
	require.NoError(t, p.recover.Request(t.Context(), ada, from))
	require.NoError(t, p.recover.Request(t.Context(), ada, from))
	require.Len(t, p.audit.entries, 5+2, "one a minute")

	p.advance(24 * time.Hour)
	p.audit.reset()
	for i := range 200 { // for many addresses of e-mail, from one of the network
		require.NoError(t, p.recover.Request(t.Context(), fmt.Sprintf("u%d@acme.example", i), from))
	}
	require.Len(t, p.audit.entries, 60+1)
	p.audit.reset()
	for range 10 {
		require.NoError(t, p.recover.RequestFor(p.as(p.ada, auth.MethodJWT), p.org, ada))
	}
	require.Len(t, p.audit.entries, 10, "what administrators do is recorded")
}

func TestAdministratorsSendLinksToTheirMembers(t *testing.T) {
	p := newPeople(t)
	outsider := "eve@other.example"
	p.user(outsider)
	ctx := p.as(p.ada, auth.MethodJWT)
	for email, want := range map[string]int{ada: 1, outsider: 0, nobody: 0} {
		require.NoError(t, p.recover.RequestFor(ctx, p.org, email))
		require.Len(t, p.outbox.sent(t), want, email)
	}
	require.ErrorIs(t, p.recover.RequestFor(ctx, catalog.NewID[catalog.OrgID](), ada), catalog.ErrNotFound)
	require.ErrorIs(t, p.recover.RequestFor(t.Context(), p.org, ada), auth.ErrNoPrincipal)
	for _, e := range p.audit.entries {
		require.Equal(t, p.org, e.Org)
		require.Equal(t, p.ada, e.User)
	}
}

func TestPeopleChangeTheirOwnPassword(t *testing.T) {
	p := newPeople(t)
	ctx := p.as(p.ada, auth.MethodJWT)
	open := p.session(p.ada)
	err := p.pw.Change(ctx, "not her password", better)
	require.Equal(t, catalog.FieldErrors{{Field: "current", Message: "is not the current password"}}, err)
	require.ErrorIs(t, p.pw.Change(ctx, good, "password1234"), catalog.ErrInvalid)
	require.ErrorIs(t, p.pw.Change(p.as(p.ada, auth.MethodAPIKey), good, better), catalog.ErrDenied)
	require.ErrorIs(t, p.pw.Change(context.Background(), good, better), auth.ErrNoPrincipal)
	require.True(t, p.live(open))
	require.NoError(t, p.pw.Change(ctx, good, better))
	require.False(t, p.live(open))
	_, err = p.signIn.Password(t.Context(), ada, better, from)
	require.NoError(t, err)
}

// interruptedHasher has something happen before it hashes a password.
type interruptedHasher struct {
	identity.Hasher
	before func()
}

func (h interruptedHasher) Hash(ctx context.Context, source password.Source, text string) (string, error) {
	h.before()
	return h.Hasher.Hash(ctx, source, text)
}

// TestAChangeDoesNotReplaceARecoveredPassword checks that somebody who knows a former password
// cannot replace the one of a recovery that ends first, nor end the sessions that follow it.
func TestAChangeDoesNotReplaceARecoveredPassword(t *testing.T) {
	p := newPeople(t)
	const thieves = "the password of a thief"
	require.NoError(t, p.recover.Request(t.Context(), ada, from))
	token := tokenOf(t, p.outbox.sent(t)[0])
	var owner session.Session
	slow := p.pw
	slow.Hasher = interruptedHasher{p.hasher, func() {
		require.NoError(t, p.recover.SetPassword(t.Context(), token, better, from))
		owner = p.session(p.ada)
	}}
	require.ErrorIs(t, slow.Change(p.as(p.ada, auth.MethodJWT), good, thieves), catalog.ErrInvalid)
	require.True(t, p.live(owner))
	_, err := p.signIn.Password(t.Context(), ada, thieves, from)
	require.ErrorIs(t, err, identity.ErrCredential)
	_, err = p.signIn.Password(t.Context(), ada, better, from)
	require.NoError(t, err)
}

func TestAPersonWithoutPasswordUsesRecovery(t *testing.T) {
	p := newPeople(t)
	bob := p.user("bob@acme.example")
	_, err := p.raw.AddMember(context.Background(), p.org, bob, catalog.RoleViewer)
	require.NoError(t, err)
	require.ErrorIs(t, p.pw.Change(p.as(bob, auth.MethodJWT), "", better), catalog.ErrInvalid)
	require.NoError(t, p.recover.Request(t.Context(), "bob@acme.example", from))
	require.NoError(t, p.recover.SetPassword(t.Context(), tokenOf(t, p.outbox.sent(t)[0]), better, from))
	_, err = p.signIn.Password(t.Context(), "bob@acme.example", better, from)
	require.NoError(t, err)
}
