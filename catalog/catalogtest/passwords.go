package catalogtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

func passwords(t *testing.T, w *world) {
	const first, second = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$Zmlyc3Q", "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$c2Vjb25k"
	user, other := w.user(), w.user()
	before := w.epochNow()
	_, err := w.Password(w.ctx, user)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	for _, hash := range []string{first, second, second} {
		require.NoError(t, w.SetPassword(w.ctx, user, hash))
		stored, err := w.Password(w.ctx, user)
		require.NoError(t, err)
		require.Equal(t, hash, stored)
	}
	_, err = w.Password(w.ctx, other)
	require.ErrorIs(t, err, catalog.ErrNotFound, "a password belongs to one user")

	require.ErrorIs(t, w.ReplacePassword(w.ctx, user, first, first), catalog.ErrNotFound, "the password was changed meanwhile")
	require.NoError(t, w.ReplacePassword(w.ctx, user, second, first))
	stored, err := w.Password(w.ctx, user)
	require.NoError(t, err)
	require.Equal(t, first, stored)

	unknown := catalog.NewID[catalog.UserID]()
	require.ErrorIs(t, w.SetPassword(w.ctx, unknown, first), catalog.ErrNotFound)
	_, err = w.Password(w.ctx, unknown)
	require.ErrorIs(t, err, catalog.ErrNotFound)
	for _, hash := range []string{"", "a password in plain text", first + "\x00"} {
		require.Equal(t, []string{"hash"}, fieldsOf(w, w.SetPassword(w.ctx, user, hash)))
	}
	require.Equal(t, before, w.epochNow(), "visibility does not change")
}
