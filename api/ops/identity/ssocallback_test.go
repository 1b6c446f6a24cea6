package identity_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/catalog"
)

// lateChanges calls then, once, after a membership was read.
type lateChanges struct {
	identity.SSOStore
	once *sync.Once
	then func()
}

func (l lateChanges) Membership(ctx context.Context, org catalog.OrgID, user catalog.UserID) (catalog.Membership, error) {
	m, err := l.SSOStore.Membership(ctx, org, user)
	l.once.Do(l.then)
	return m, err
}

func TestSignInsDoNotBringBackAttributes(t *testing.T) {
	w := newSSOWorld(t)
	w.setUp(func(n *identity.NewSSO) { n.AttributeClaims = map[string]string{"team": "department"} })
	w.provider.Claims["department"] = "sales"
	s, err := w.signIn()
	require.NoError(t, err)
	user := w.membership(s).User
	replace := func(attributes map[string]string) {
		_, err := w.store.ReplaceAttributes(w.system(), w.org, user, attributes)
		require.NoError(t, err)
	}
	replace(map[string]string{"team": "sales", "clearance": "high"})
	w.sso.Store = lateChanges{w.store, &sync.Once{}, func() { replace(map[string]string{}) }}
	s, err = w.signIn()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"team": "sales"}, w.membership(s).Attributes)
}
