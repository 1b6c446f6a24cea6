package jwt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
)

// A refusal contains the claims of the token. It is made without the catalog, which
// returns an error here.
func TestWrongTokensClaimAnAccountAndCostNoLookUp(t *testing.T) {
	w := newWorld(t)
	w.members.err = errors.New("the catalog was called")
	account := home + " " + w.ada.String()
	for name, c := range map[string]struct{ token, account string }{
		"signature":      {sign(w.header(), w.claims(), w.stranger), account},
		"audience":       {sign(w.header(), with(w.claims(), "aud", "other"), w.rsa), account},
		"expired":        {sign(w.header(), with(w.claims(), "exp", now.Unix()-1), w.rsa), account},
		"unknown issuer": {sign(w.header(), with(w.claims(), "iss", "https://evil.example"), w.rsa), "https://evil.example " + w.ada.String()},
		"no subject":     {sign(w.header(), with(w.claims(), "sub", nil), w.stranger), ""},
		"no claims":      {sign(w.header(), `"lakewarden"`, w.stranger), ""},
		"no token":       {"a.b", ""},
		"too long":       {sign(w.header(), with(w.claims(), "filler", strings.Repeat("x", 9000)), w.rsa), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.Authenticate(t.Context(), c.token)
			var refusal *auth.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.account, refusal.Account)
			require.Empty(t, refusal.Prefix)
			require.ErrorIs(t, err, auth.ErrUnauthenticated)
		})
	}
	_, err := w.Authenticate(t.Context(), sign(w.header(), w.claims(), w.rsa))
	require.ErrorIs(t, err, auth.ErrUnavailable)
}
