package identity_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/password"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// invite creates an invitation.
func invite(ctx context.Context, i identity.Invitations, org catalog.OrgID, email string, role catalog.Role) error {
	_, err := i.Create(ctx, org, email, role)
	return err
}

// invitations returns the use case over the database of p.
func (p *people) invitations() identity.Invitations {
	return identity.Invitations{
		Store: authz.New(p.raw), Mail: p.outbox, Audit: p.audit, Refusals: throttle.NewRefusals(p.now), Sent: throttle.NewMailings(p.now),
		PublicURL: "https://lake.example", Now: p.now,
	}
}

var invitationLink = regexp.MustCompile(`https://lake\.example/accept-invitation\?token=([A-Za-z0-9_-]{43})\s`)

// mailed returns the token of the one e-mail that waits.
func (p *people) mailed(to string) string {
	p.Helper()
	messages := p.outbox.sent(p)
	require.Len(p, messages, 1)
	require.Equal(p, to, messages[0].To)
	require.Contains(p, messages[0].Text, "Acme")
	found := invitationLink.FindStringSubmatch(messages[0].Text)
	require.NotNil(p, found, "%s", messages[0].Text)
	return found[1]
}

func TestInvitedPersonSetsAPassword(t *testing.T) {
	p := newPeople(t)
	i := p.invitations()
	admin := p.as(p.ada, auth.MethodJWT)
	require.NoError(t, invite(admin, i, p.org, "Ivy@acme.example", catalog.RoleEditor))
	require.Equal(t, []string{"invitation.created allow"}, p.audit.actions())
	require.JSONEq(t, `{"email":"ivy@acme.example","role":"editor"}`, string(p.audit.entries[0].Details))
	require.Equal(t, p.org, p.audit.entries[0].Org)
	p.audit.reset()
	token := p.mailed("ivy@acme.example")
	open, err := i.Open(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, "Acme", open.Organisation)
	require.False(t, open.Password)
	_, err = i.Open(t.Context(), token)
	require.NoError(t, err, "a look at the page uses nothing up")
	_, err = p.raw.UserByEmail(t.Context(), "ivy@acme.example")
	require.ErrorIs(t, err, catalog.ErrNotFound, "an invitation creates nobody")

	hash, err := p.hasher.Hash(t.Context(), password.Source{}, better)
	require.NoError(t, err)
	_, _, err = i.AcceptWithPassword(t.Context(), "made up", "Ivy", hash, from)
	require.ErrorIs(t, err, identity.ErrLink)
	accepted, ivy, err := i.AcceptWithPassword(t.Context(), token, "Ivy", hash, from)
	require.NoError(t, err)
	require.Equal(t, p.org, accepted.Org)
	_, _, err = i.AcceptWithPassword(t.Context(), token, "Ivy", hash, from)
	require.ErrorIs(t, err, identity.ErrLink)
	require.Equal(t, []string{"invitation.refused deny", "invitation.accepted allow", "invitation.refused deny"}, p.audit.actions())
	require.Empty(t, p.audit.entries[0].Org, "a made-up token belongs to no organisation")
	require.Equal(t, p.org, p.audit.entries[1].Org)
	require.Equal(t, ivy, p.audit.entries[1].User)
	require.Equal(t, remote, p.audit.entries[1].Remote)
	in, err := p.signIn.Password(t.Context(), "ivy@acme.example", better, from)
	require.NoError(t, err)
	require.Equal(t, string(ivy), in.Session.User.String())
}

func TestInvitationExpires(t *testing.T) {
	p := newPeople(t)
	i := p.invitations()
	require.NoError(t, invite(p.as(p.ada, auth.MethodJWT), i, p.org, nobody, catalog.RoleViewer))
	token := p.mailed(nobody)
	p.advance(7*24*time.Hour - time.Second)
	_, err := i.Open(t.Context(), token)
	require.NoError(t, err)
	p.advance(time.Second)
	_, err = i.Open(t.Context(), token)
	require.ErrorIs(t, err, identity.ErrLink)
	_, err = i.Accept(p.as(p.user(nobody), auth.MethodJWT), token)
	require.ErrorIs(t, err, identity.ErrLink)
}

// TestInvitationWithoutMail checks that no invitation stays open whose token is lost.
func TestInvitationWithoutMail(t *testing.T) {
	p := newPeople(t)
	i := p.invitations()
	admin := p.as(p.ada, auth.MethodJWT)
	p.outbox.full = true
	require.ErrorIs(t, invite(admin, i, p.org, nobody, catalog.RoleViewer), identity.ErrMailBusy)
	list, err := i.List(admin, p.org, catalog.Page{})
	require.NoError(t, err)
	require.Empty(t, list.Items)
}

func TestInvitationsFloodNoMailbox(t *testing.T) {
	p := newPeople(t)
	i := p.invitations()
	admin := p.as(p.ada, auth.MethodJWT)
	for range 5 {
		require.NoError(t, invite(admin, i, p.org, nobody, catalog.RoleViewer))
	}
	var many *throttle.TooManyError
	require.ErrorAs(t, invite(admin, i, p.org, strings.ToUpper(nobody), catalog.RoleViewer), &many)
	require.Positive(t, many.Wait)
	require.Len(t, p.outbox.sent(t), 5)
	list, err := i.List(admin, p.org, catalog.Page{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1, "the last invitation stays open")
	require.NoError(t, invite(admin, i, p.org, "else."+nobody, catalog.RoleViewer))
	other, err := p.raw.CreateOrganisation(t.Context(), catalog.NewOrganisation{Name: "Other", Owner: p.ada})
	require.NoError(t, err)
	principal, err := auth.PrincipalFrom(admin)
	require.NoError(t, err)
	principal.OrgID = uuid.MustParse(string(other.ID))
	require.NoError(t, invite(auth.WithPrincipal(t.Context(), principal), i, other.ID, nobody, catalog.RoleViewer),
		"what one organisation sends does not silence another")
	p.advance(many.Wait)
	require.NoError(t, invite(admin, i, p.org, nobody, catalog.RoleViewer))
}

func TestNobodySendsBulkMail(t *testing.T) {
	p := newPeople(t)
	i := p.invitations()
	second, err := p.raw.CreateOrganisation(t.Context(), catalog.NewOrganisation{Name: "Second", Owner: p.ada})
	require.NoError(t, err)
	principal := principalOf(p.as(p.ada, auth.MethodJWT), t)
	principal.OrgID = uuid.MustParse(string(second.ID))
	other := auth.WithPrincipal(t.Context(), principal)
	for n := range 500 {
		require.NoError(t, i.Sent.Invite(p.org, p.ada, fmt.Sprintf("u%d@elsewhere.example", n)))
	}
	var many *throttle.TooManyError
	require.ErrorAs(t, invite(other, i, second.ID, "one.more@elsewhere.example", catalog.RoleViewer), &many, "by another organisation")
	require.Equal(t, time.Minute, many.Wait)
	bob := p.user("bob@acme.example")
	_, err = p.raw.AddMember(t.Context(), p.org, bob, catalog.RoleAdmin)
	require.NoError(t, err)
	require.NoError(t, invite(p.as(bob, auth.MethodJWT), i, p.org, "one.more@elsewhere.example", catalog.RoleViewer))
	p.advance(time.Minute)
	require.NoError(t, invite(other, i, second.ID, "one.more@elsewhere.example", catalog.RoleViewer))
}

func TestInvitationsAreForAdministrators(t *testing.T) {
	p := newPeople(t)
	i := p.invitations()
	bob := p.user("bob@acme.example")
	_, err := p.raw.AddMember(context.Background(), p.org, bob, catalog.RoleBuilder)
	require.NoError(t, err)
	builder := p.as(bob, auth.MethodJWT)
	principal, err := auth.PrincipalFrom(builder)
	require.NoError(t, err)
	principal.Role, principal.Scopes = auth.RoleBuilder, auth.RoleBuilder.Scopes()
	builder = auth.WithPrincipal(context.Background(), principal)
	require.ErrorIs(t, invite(builder, i, p.org, nobody, catalog.RoleViewer), catalog.ErrDenied)
	require.Empty(t, p.outbox.waiting)
	require.ErrorIs(t, invite(p.as(p.ada, auth.MethodJWT), i, catalog.NewID[catalog.OrgID](), nobody, catalog.RoleViewer), catalog.ErrNotFound)

	// The organisation's name is somebody's choice: the e-mail shows it without a link.
	_, err = p.raw.UpdateOrganisation(context.Background(), p.org, catalog.AnyVersion,
		catalog.OrganisationChange{Name: ptr("https://evil.example/login Acme")})
	require.NoError(t, err)
	require.NoError(t, invite(p.as(p.ada, auth.MethodJWT), i, p.org, nobody, catalog.RoleViewer))
	for _, m := range p.outbox.sent(t) {
		require.NotContains(t, m.Text+m.HTML+m.Subject, "evil.example/")
	}
}

func TestAFloodOfRefusedInvitationsHasFewEntries(t *testing.T) {
	p := newPeople(t)
	i := p.invitations()
	for range 200 {
		_, _, err := i.AcceptWithPassword(t.Context(), "made up", "Name", "$argon2id$hash", from)
		require.ErrorIs(t, err, identity.ErrLink)
	}
	require.Len(t, p.audit.entries, 60+1, "by the address")
	p.audit.reset()
	for n := range 60 {
		principal, err := auth.PrincipalFrom(p.as(p.ada, auth.MethodJWT))
		require.NoError(t, err)
		principal.Remote = fmt.Sprintf("203.0.113.%d", n)
		_, err = i.Accept(auth.WithPrincipal(t.Context(), principal), "made up")
		require.ErrorIs(t, err, identity.ErrLink)
	}
	require.Len(t, p.audit.entries, 20+1, "by the person")
	p.advance(time.Minute + time.Second)
	_, err := i.Accept(p.as(p.ada, auth.MethodJWT), "made up")
	require.ErrorIs(t, err, identity.ErrLink)
	require.Len(t, p.audit.entries, 20+2, "one a minute")
}

func ptr[T any](v T) *T { return &v }
