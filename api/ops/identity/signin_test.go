package identity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/password"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
)

func TestAPersonSignsInByPasswordAndOut(t *testing.T) {
	p := newPeople(t)
	ctx := t.Context()
	in, err := p.signIn.Password(ctx, " Ada@ACME.example ", good, from)
	require.NoError(t, err)
	require.Equal(t, session.MethodPassword, in.Session.Method)
	require.Equal(t, string(p.ada), in.Session.User.String())
	found, err := p.signIn.Browser(ctx, in.Cookie)
	require.NoError(t, err)
	require.Equal(t, in.Session.ID, found.ID)

	require.NoError(t, p.signIn.Out(ctx, in.Cookie, from))
	require.False(t, p.live(in.Session))
	for _, cookie := range []string{in.Cookie, "", "unknown"} {
		_, err = p.signIn.Browser(ctx, cookie)
		require.ErrorIs(t, err, session.ErrNotFound)
		require.NoError(t, p.signIn.Out(ctx, cookie, from))
	}
	require.Equal(t, []string{"sign_in allow", "sign_out allow"}, p.audit.actions())
}

func TestKnownAndUnknownAccountsCostTheSame(t *testing.T) {
	p := newPeople(t)
	without := "bob@acme.example"
	p.user(without)
	for email, candidate := range map[string]string{ada: "not her password", nobody: good, without: good} {
		p.store.reset()
		p.hasher.reset()
		_, err := p.signIn.Password(t.Context(), email, candidate, from)
		require.ErrorIs(t, err, identity.ErrCredential)
		require.Equal(t, []string{"UserByEmail", "Password"}, p.store.calls, email)
		require.Equal(t, []string{remote + "/32"}, p.hasher.sources, "one verification, in the turn of the client: %s", email)
	}
	require.Equal(t, []string{"sign_in.refused deny", "sign_in.refused deny", "sign_in.refused deny"}, p.audit.actions())
}

func TestAddressesThatOnlyLookAlikeAreRefused(t *testing.T) {
	p := newPeople(t)
	for _, email := range []string{
		"\u0430da@acme.example", "ada@acm\u0435.example", "ada@acme\uff0eexample", "", "ada", "ada@acme.example, eve@acme.example",
		"Ada <ada@acme.example>", "ada@acme.example\x00", strings.Repeat("a", 300) + "@acme.example",
	} {
		_, err := p.signIn.Password(t.Context(), email, good, from)
		require.ErrorIs(t, err, catalog.ErrInvalid, "%q", email)
		require.ErrorIs(t, p.recover.Request(t.Context(), email, from), catalog.ErrInvalid, "%q", email)
	}
	require.Empty(t, p.hasher.sources)
}

func TestOverlongPasswordsAreRefusedLikeWrongOnes(t *testing.T) {
	p := newPeople(t)
	_, err := p.signIn.Password(t.Context(), ada, good+strings.Repeat("x", 1<<20), from)
	require.ErrorIs(t, err, identity.ErrCredential)
	require.Len(t, p.hasher.sources, 1)
}

func TestNoNumberOfWrongPasswordsLocksAnAccount(t *testing.T) {
	p := newPeople(t)
	limited := 0
	for i := range 60 {
		_, err := p.signIn.Password(t.Context(), ada, "not her password", identity.Origin{Remote: "203.0.113." + string(rune('0'+i%10))})
		var many *throttle.TooManyError
		if errors.As(err, &many) {
			require.Positive(t, many.Wait)
			limited++
		} else {
			require.ErrorIs(t, err, identity.ErrCredential)
		}
		p.advance(time.Millisecond)
	}
	require.Equal(t, 40, limited, "20 refusals of an account are answered, then clients are told to wait")
	_, err := p.signIn.Password(t.Context(), ada, good, from)
	require.NoError(t, err, "the right password is accepted at once, from another address")
}

// TestAFloodOfRefusalsHasFewEntries checks that what is refused beyond a rate is recorded
// once a minute, by whatever is the broadest name of the flood.
func TestAFloodOfRefusalsHasFewEntries(t *testing.T) {
	p := newPeople(t)
	refuse := func(n int, email, remote string) {
		t.Helper()
		for range n {
			_, err := p.signIn.Password(t.Context(), email, "not the password", identity.Origin{Remote: remote})
			require.Error(t, err)
		}
	}
	wrong := func(i int) (email, address string) {
		return fmt.Sprintf("u%d@acme.example", i), fmt.Sprintf("203.0.113.%d", i)
	}
	flood := func(n int) { // at one account, from many addresses
		for i := range n {
			_, address := wrong(i)
			refuse(1, ada, address)
		}
	}
	flood(60)
	require.Len(t, p.audit.entries, 20+1, "all within the rate, and one beyond it")
	require.Contains(t, string(p.audit.entries[20].Details), `"rate_limited":"account"`)
	p.advance(time.Minute + time.Second)
	flood(60)
	require.Len(t, p.audit.entries, 20+2, "one a minute")

	p.advance(time.Hour)
	p.audit.reset()
	for i := range 200 { // at many accounts, from one address
		email, _ := wrong(i)
		refuse(1, email, elsewhere)
	}
	require.Len(t, p.audit.entries, 60+1)
	require.Contains(t, string(p.audit.entries[60].Details), `"rate_limited":"address"`)
}

func TestAFloodOfWrongChangesHasFewEntries(t *testing.T) {
	p := newPeople(t)
	for i := range 60 {
		principal, err := auth.PrincipalFrom(p.as(p.ada, auth.MethodJWT))
		require.NoError(t, err)
		principal.Remote = fmt.Sprintf("203.0.113.%d", i)
		require.Error(t, p.pw.Change(auth.WithPrincipal(t.Context(), principal), "not the password", better))
	}
	require.Len(t, p.audit.entries, 20+1)
}

func TestAPasswordChangeDuringASignInEndsIt(t *testing.T) {
	p := newPeople(t)
	p.store.onPassword = func(call int) {
		if call == 2 { // after the session was created
			require.NoError(t, p.pw.Set(context.Background(), p.ada, better, from))
		}
	}
	_, err := p.signIn.Password(t.Context(), ada, good, from)
	require.ErrorIs(t, err, identity.ErrCredential)
	p.store.onPassword = nil
	_, err = p.signIn.Password(t.Context(), ada, better, from)
	require.NoError(t, err)
}

func TestASignInReplacesAnOutdatedHash(t *testing.T) {
	p := newPeople(t)
	before, err := p.raw.Password(t.Context(), p.ada)
	require.NoError(t, err)
	s := p.signIn
	s.Hasher = password.New(password.Options{Params: password.Params{Memory: 128, Passes: 1, Lanes: 1}})
	_, err = s.Password(t.Context(), ada, good, from)
	require.NoError(t, err)
	after, err := p.raw.Password(t.Context(), p.ada)
	require.NoError(t, err)
	require.NotEqual(t, before, after)
	require.Contains(t, after, "m=128")
	_, err = s.Password(t.Context(), ada, good, from)
	require.NoError(t, err)
}

func TestAuditEntriesHoldNoPasswords(t *testing.T) {
	p := newPeople(t)
	_, err := p.signIn.Password(t.Context(), ada, "not her password", from)
	require.Error(t, err)
	_, err = p.signIn.Password(t.Context(), ada, good, from)
	require.NoError(t, err)
	for _, e := range p.audit.entries {
		require.NoError(t, e.Validate())
		require.Equal(t, remote, e.Remote)
		require.Equal(t, "request", e.RequestID)
		for _, secret := range []string{"not her password", good} {
			require.NotContains(t, string(e.Details), secret)
		}
	}
}
