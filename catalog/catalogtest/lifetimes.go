package catalogtest

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// made holds what one maker makes.
type made struct {
	key        catalog.APIKey
	client     catalog.Client
	account    catalog.ServiceAccount
	invitation catalog.Invitation
}

// make makes one credential of each kind.
func (w *world) make(org catalog.OrgID, by catalog.UserID, maker catalog.Maker) (m made, err error) {
	w.Helper()
	key := w.newKey(org, by)
	key.Maker, key.Shorten = maker, true
	if m.key, err = w.CreateAPIKey(w.ctx, key); err != nil {
		return m, err
	}
	client := newClient(org, by)
	client.Maker = maker
	if m.client, err = w.CreateClient(w.ctx, client); err != nil {
		return m, err
	}
	account := newServiceAccount(org, by)
	account.Maker = maker
	if m.account, err = w.CreateServiceAccount(w.ctx, account); err != nil {
		return m, err
	}
	email := fmt.Sprintf("guest%d@example.com", w.next())
	m.invitation, err = w.CreateInvitation(w.ctx, catalog.NewInvitation{Org: org, Email: email, Role: catalog.RoleViewer, Maker: maker,
		TokenHash: sha256.Sum256([]byte(email)), InvitedBy: by, ExpiresAt: w.now().Add(72 * time.Hour)})
	return m, err
}

// ended reports for each kind whether the credential has ended.
func (w *world) ended(org catalog.OrgID, m made) map[string]bool {
	w.Helper()
	key, err := w.APIKey(w.ctx, org, m.key.ID)
	require.NoError(w, err)
	over := func(at time.Time) bool { return !at.IsZero() && !w.now().Before(at) }
	client, err := w.ClientByID(w.ctx, m.client.ID)
	require.NoError(w, err)
	account, err := w.ServiceAccount(w.ctx, org, m.account.ID)
	require.NoError(w, err)
	service, err := w.ClientByID(w.ctx, account.Client)
	require.NoError(w, err)
	require.Equal(w, service.EndsAt, account.EndsAt)
	require.Equal(w, service.SecretEndsAt, account.SecretEndsAt)
	_, err = w.InvitationByToken(w.ctx, sha256.Sum256([]byte(m.invitation.Email)))
	return map[string]bool{"key": !key.Usable(w.now()), "client": over(client.EndsAt), "client_secret": over(client.SecretEndsAt),
		"account": over(account.EndsAt), "account_secret": over(account.SecretEndsAt), "invitation": err != nil}
}

func everything(ended bool) map[string]bool {
	return map[string]bool{"key": ended, "client": ended, "client_secret": ended, "account": ended, "account_secret": ended,
		"invitation": ended}
}

// lifetimes checks that what a key makes ends with it, however it ends, also what is made by
// way of what it made, and that nothing else does.
func lifetimes(t *testing.T, w *world) {
	org, owner := w.org()
	brief := func() catalog.APIKey {
		n := w.newKey(org, owner)
		n.ExpiresAt = w.now().Add(10 * time.Minute)
		k, err := w.CreateAPIKey(w.ctx, n)
		require.NoError(t, err)
		return k
	}
	by := func(maker catalog.Maker) made {
		t.Helper()
		m, err := w.make(org, owner, maker)
		require.NoError(t, err)
		return m
	}
	of := func(k catalog.APIKey) catalog.Maker { return catalog.Maker{Key: k.ID} }
	free := by(catalog.Maker{})

	t.Run("expiry", func(t *testing.T) {
		k := brief()
		m := by(of(k))
		second := by(of(m.key))
		for _, one := range []made{m, second} {
			require.Equal(t, k.ExpiresAt, one.key.ExpiresAt)
			require.Equal(t, k.ExpiresAt, one.client.EndsAt)
			require.Equal(t, k.ExpiresAt, one.account.SecretEndsAt)
			require.Equal(t, k.ExpiresAt, one.invitation.ExpiresAt)
			require.Equal(t, everything(false), w.ended(org, one))
		}
		late := w.newKey(org, owner)
		late.Maker = of(k)
		_, err := w.CreateAPIKey(w.ctx, late)
		var outlives *catalog.OutlivesMakerError
		require.ErrorAs(t, err, &outlives)
		require.Equal(t, k.ExpiresAt, outlives.Ends)
		w.clock.Add((10 * time.Minute).Microseconds())
		require.Equal(t, everything(true), w.ended(org, m))
		require.Equal(t, everything(true), w.ended(org, second))
		for _, maker := range []catalog.APIKey{k, m.key} {
			_, err := w.make(org, owner, of(maker))
			require.ErrorIs(t, err, catalog.ErrRevoked)
		}
	})

	t.Run("changes", func(t *testing.T) {
		k := brief()
		m := by(of(k))
		second := by(of(m.key))
		n := w.newKey(org, owner)
		n.CommandLine = true
		printed, err := w.CreateAPIKey(w.ctx, n)
		require.NoError(t, err)
		uris := []string{"https://elsewhere.example/"}
		for name, c := range map[string]struct {
			maker   catalog.Maker
			changed made
			allowed bool
		}{
			"a person's, by a key":                               {of(k), free, false},
			"the key's own":                                      {of(k), m, true},
			"what its key made":                                  {of(k), second, true},
			"the maker's, by what it made":                       {of(m.key), m, false},
			"its own, in the second place":                       {of(m.key), second, true},
			"another key's":                                      {of(brief()), m, false},
			"a key's, by a person":                               {catalog.Maker{}, m, true},
			"a person's, by a person":                            {catalog.Maker{}, free, true},
			"a person's, by a key that the command line printed": {of(printed), free, true},
		} {
			for _, err := range []error{
				drop(w.UpdateClient(w.ctx, org, c.changed.client.ID, catalog.AnyVersion, catalog.ClientChange{RedirectURIs: &uris, Maker: c.maker})),
				drop(w.UpdateServiceAccount(w.ctx, org, c.changed.account.ID, catalog.AnyVersion, catalog.ServiceAccountChange{Maker: c.maker})),
			} {
				if c.allowed {
					require.NoError(t, err, name)
					continue
				}
				var denied *catalog.DeniedError
				require.ErrorAs(t, err, &denied, name)
				require.Equal(t, "outlives_key", denied.Reason, name)
			}
		}
	})

	t.Run("revocation", func(t *testing.T) {
		k := brief()
		m := by(of(k))
		second := by(of(m.key))
		ends, err := w.ListEndings(w.ctx, org, k.ID)
		require.NoError(t, err)
		kinds := map[catalog.EndingKind][]string{}
		for _, e := range ends {
			kinds[e.Kind] = append(kinds[e.Kind], e.ID)
			require.NotEmpty(t, e.Name)
		}
		require.Len(t, kinds, 4, "the secrets end with their clients")
		require.ElementsMatch(t, []string{string(m.key.ID), string(second.key.ID)}, kinds[catalog.EndingKey])
		require.ElementsMatch(t, []string{string(m.account.ID), string(second.account.ID)}, kinds[catalog.EndingServiceAccount])
		require.ElementsMatch(t, []string{string(m.client.ID), string(second.client.ID)}, kinds[catalog.EndingClient])
		require.ElementsMatch(t, []string{string(m.invitation.ID), string(second.invitation.ID)}, kinds[catalog.EndingInvitation])

		before := w.epochNow()
		_, err = w.RevokeAPIKey(w.ctx, org, k.ID)
		require.NoError(t, err)
		require.Greater(t, w.epochNow(), before)
		require.Equal(t, everything(true), w.ended(org, m))
		require.Equal(t, everything(true), w.ended(org, second))
	})

	t.Run("accounts", func(t *testing.T) {
		k := brief()
		m := by(of(k))
		n := w.newKey(org, m.account.ID) // made by a person
		_, err := w.CreateAPIKey(w.ctx, n)
		require.ErrorIs(t, err, catalog.ErrOutlivesMaker, "a key ends with its account")
		n.Shorten = true
		held, err := w.CreateAPIKey(w.ctx, n)
		require.NoError(t, err)
		require.Equal(t, k.ExpiresAt, held.ExpiresAt)
		further := by(of(held))
		_, err = w.RevokeAPIKey(w.ctx, org, k.ID)
		require.NoError(t, err)
		held, err = w.APIKey(w.ctx, org, held.ID)
		require.NoError(t, err)
		require.True(t, held.Revoked())
		require.Equal(t, everything(true), w.ended(org, further))
		n.Prefix += "x"
		_, err = w.CreateAPIKey(w.ctx, n)
		require.ErrorIs(t, err, catalog.ErrRevoked, "the account has ended")
		require.ErrorIs(t, w.ReplaceClientSecret(w.ctx, org, m.account.Client, secretHash("t"), 0, catalog.Maker{}), catalog.ErrRevoked)
		require.NoError(t, w.RemoveMember(w.ctx, org, m.account.ID), "it can be deleted")
	})

	t.Run("secrets", func(t *testing.T) {
		k := brief()
		lasting := by(catalog.Maker{})
		require.NoError(t, w.ReplaceClientSecret(w.ctx, org, lasting.client.ID, secretHash("t"), 0, of(k)))
		ends, err := w.ListEndings(w.ctx, org, k.ID)
		require.NoError(t, err)
		require.Equal(t, []catalog.Ending{{Kind: catalog.EndingClientSecret, ID: string(lasting.client.ID), Name: "App"}}, ends)
		_, err = w.RevokeAPIKey(w.ctx, org, k.ID)
		require.NoError(t, err)
		want := everything(false)
		want["client_secret"] = true
		require.Equal(t, want, w.ended(org, lasting))
		require.NoError(t, w.ReplaceClientSecret(w.ctx, org, lasting.client.ID, secretHash("u"), 0, catalog.Maker{}))
		require.Equal(t, everything(false), w.ended(org, lasting), "a person has replaced it")
	})

	t.Run("rotation", func(t *testing.T) {
		k := brief()
		m := by(of(k))
		next := w.newKey("", "")
		next.Maker = of(k)
		successor, err := w.RotateAPIKey(w.ctx, org, k.ID, next, time.Minute)
		require.NoError(t, err)
		grace := by(of(k))
		require.WithinDuration(t, w.now().Add(time.Minute), grace.key.ExpiresAt, time.Second, "not later than the key in use")
		ends, err := w.ListEndings(w.ctx, org, k.ID)
		require.NoError(t, err)
		require.Empty(t, ends)
		_, err = w.RevokeAPIKey(w.ctx, org, k.ID)
		require.NoError(t, err)
		require.Equal(t, everything(false), w.ended(org, m))
		require.Equal(t, everything(false), w.ended(org, grace), "what the old key makes in its grace period is the successor's")
		_, err = w.RevokeAPIKey(w.ctx, org, successor.ID)
		require.NoError(t, err)
		require.Equal(t, everything(true), w.ended(org, m))
		require.Equal(t, everything(true), w.ended(org, grace))
	})

	t.Run("rotation by another key", func(t *testing.T) {
		long := w.key(org, owner)
		m := by(of(long))
		k := brief()
		next := w.newKey("", "")
		next.Maker = of(k)
		successor, err := w.RotateAPIKey(w.ctx, org, long.ID, next, 0)
		require.NoError(t, err)
		require.Equal(t, k.ExpiresAt, successor.ExpiresAt)
		was := m.key.ExpiresAt
		m.key, err = w.APIKey(w.ctx, org, m.key.ID)
		require.NoError(t, err)
		require.Less(t, m.key.ExpiresAt, was)
		_, err = w.RevokeAPIKey(w.ctx, org, k.ID)
		require.NoError(t, err)
		successor, err = w.APIKey(w.ctx, org, successor.ID)
		require.NoError(t, err)
		require.True(t, successor.Revoked(), "the other key's holder has its secret")
		require.Equal(t, everything(true), w.ended(org, m))
	})

	t.Run("members and workspaces", func(t *testing.T) {
		admin := w.member(org, catalog.RoleAdmin)
		space := w.workspace(org, admin)
		n := w.newKey(org, admin)
		n.Workspace = space
		inSpace, err := w.CreateAPIKey(w.ctx, n)
		require.NoError(t, err)
		first := by(of(inSpace))
		require.NoError(t, w.DeleteWorkspace(w.ctx, org, space, catalog.AnyVersion))
		require.Equal(t, everything(true), w.ended(org, first))
		second := by(of(w.key(org, admin)))
		require.NoError(t, w.RemoveMember(w.ctx, org, admin))
		require.Equal(t, everything(true), w.ended(org, second))
	})

	t.Run("keys of the command line", func(t *testing.T) {
		n := w.newKey(org, owner)
		n.CommandLine = true
		n.ExpiresAt = w.now().Add(10 * time.Minute)
		k, err := w.CreateAPIKey(w.ctx, n)
		require.NoError(t, err)
		require.True(t, k.CommandLine)
		m := by(of(k))
		next := w.newKey("", "")
		next.Maker = of(k)
		successor, err := w.RotateAPIKey(w.ctx, org, k.ID, next, 0)
		require.NoError(t, err)
		require.True(t, successor.CommandLine)
		require.Equal(t, everything(false), w.ended(org, by(of(successor))))
		other := w.newKey("", "")
		other.Maker = of(brief())
		successor, err = w.RotateAPIKey(w.ctx, org, successor.ID, other, 0)
		require.NoError(t, err)
		require.False(t, successor.CommandLine, "it ends with a key")
		_, err = w.RevokeAPIKey(w.ctx, org, successor.ID)
		require.NoError(t, err)
		require.Equal(t, everything(false), w.ended(org, m))
	})

	require.Equal(t, everything(false), w.ended(org, free))
	found, err := w.TakeUnboundCredentials(w.ctx)
	require.NoError(t, err)
	require.Empty(t, found, "nothing is of an earlier release")
}
