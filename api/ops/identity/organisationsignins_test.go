package identity_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/catalog"
)

// TestOrganisationsLearnOfSignInsThatUseThem checks that a sign-in by password is written once to
// the log of each organisation that it is used in, and to no other.
func TestOrganisationsLearnOfSignInsThatUseThem(t *testing.T) {
	w := newSSOWorld(t)
	audit := w.audit
	signIns := identity.OrganisationSignIns{Sessions: w.signIns, Once: w.signIns, Audit: audit, Now: w.clock}
	first, second := uuid.New(), uuid.New()
	begin := func(method session.Method) uuid.UUID {
		s, err := w.signIns.CreateSession(t.Context(), session.Session{User: uuid.MustParse(string(w.owner)), Method: method,
			Client: session.FirstParty, ExpiresAt: w.clock().Add(time.Hour)})
		require.NoError(t, err)
		return s.ID
	}
	of := begin(session.MethodPassword)
	audit.reset()
	for _, org := range []uuid.UUID{uuid.Nil, first, first, second, first} {
		require.NoError(t, signIns.Issued(t.Context(), org, of, from))
	}
	require.Equal(t, []string{"sign_in allow", "sign_in allow"}, audit.actions())
	require.Equal(t, []catalog.OrgID{catalog.OrgID(first.String()), catalog.OrgID(second.String())},
		[]catalog.OrgID{audit.entries[0].Org, audit.entries[1].Org})
	require.Equal(t, w.owner, audit.entries[0].User)
	require.Equal(t, from.Remote, audit.entries[0].Remote)
	require.JSONEq(t, `{"method":"password","session":"`+of.String()+`","client":"lakewarden"}`, string(audit.entries[0].Details))

	require.NoError(t, signIns.Issued(t.Context(), first, begin(session.MethodPassword), from))
	require.Len(t, audit.entries, 3, "another sign-in")
	require.NoError(t, signIns.Issued(t.Context(), first, begin(session.MethodSSO), from))
	require.Len(t, audit.entries, 3, "a single sign-on is recorded at its end")
	require.ErrorIs(t, signIns.Issued(t.Context(), first, uuid.New(), from), session.ErrNotFound)
}
