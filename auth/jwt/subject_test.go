package jwt_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/jwt"
)

func TestSubjectsOfVerifiedTokens(t *testing.T) {
	w := newWorld(t)
	unchanged := func(object) {}
	got, err := w.Subject(t.Context(), w.foreignToken(func(c object) { c["sub"] = "stranger" }))
	require.NoError(t, err)
	require.Equal(t, jwt.Subject{Org: w.org, Issuer: foreign, ID: "stranger", Email: "ada@example.com"}, got, "whom nobody has confirmed")
	for name, token := range map[string]string{
		"expired":              w.foreignToken(func(c object) { c["exp"] = now.Unix() - 1 }),
		"not verified":         w.foreignToken(func(c object) { c["email_verified"] = false }),
		"no subject":           w.foreignToken(func(c object) { delete(c, "sub") }),
		"other audience":       w.foreignToken(func(c object) { c["aud"] = "other" }),
		"another organisation": w.foreignToken(func(c object) { c["org"] = uuid.NewString() }),
		"a forged signature":   w.foreignToken(unchanged)[:300] + strings.Repeat("A", 100),
		"an issuer of ids":     sign(w.header(), object{"iss": home, "aud": "lakewarden", "sub": w.ada.String(), "exp": now.Unix() + 900}, w.rsa),
		"too long":             strings.Repeat("a", 9<<10),
		"empty":                "",
	} {
		_, err := w.Subject(t.Context(), token)
		require.ErrorIs(t, err, auth.ErrUnauthenticated, name)
	}
}

func TestUnboundSubjectsSayWhy(t *testing.T) {
	w := newWorld(t)
	_, err := w.Authenticate(t.Context(), w.foreignToken(func(c object) { c["sub"] = "stranger" }))
	var unbound *auth.UnboundError
	require.ErrorAs(t, err, &unbound)
	require.Equal(t, []any{w.org, "stranger", "bound_to_another_subject"}, []any{unbound.Org, unbound.Subject, unbound.Reason})
	require.ErrorIs(t, err, auth.ErrUnauthenticated)
}
