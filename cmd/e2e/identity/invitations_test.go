package identity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestInvitation follows an invitation from the e-mail to the membership.
func TestInvitation(t *testing.T) {
	t.Parallel()
	people := harness.NewSigner(t)
	s := harness.Start(t, people.Trust)
	boss := people.Person(s, s.Boot.UserID, "")
	id := boss.Call("POST", "/v1/organisations", object{"name": "Second"}).JSON(t)["id"].(string)
	base := "/v1/organisations/" + id
	owner := people.Person(s, s.Boot.UserID, id)
	invited, other := s.Member("ivy@acme.example", "viewer", nil), s.Member("oscar@acme.example", "viewer", nil)
	ivy, oscar := people.Person(s, invited.User, ""), people.Person(s, other.User, "")
	open := func() list { return owner.OK("GET", base+"/invitations", nil)["invitations"].(list) }

	require.Empty(t, owner.OK("POST", base+"/invite", object{"email": "Ivy@ACME.example", "role": "builder"}))
	first := s.MailedToken("ivy@acme.example")
	require.Len(t, open(), 1)
	owner.OK("POST", base+"/invite", object{"email": "ivy@acme.example", "role": "editor"})
	token := s.MailedToken("ivy@acme.example")
	require.NotEqual(t, first, token)
	require.Len(t, open(), 1, "the second replaces the first")
	found := open()[0].(object)
	require.Equal(t, "editor", found["role"])
	require.Equal(t, s.Boot.UserID, found["invitedBy"])
	require.Equal(t, "admin@acme.example", found["inviterEmail"])
	require.Equal(t, id, found["organisationId"])
	require.Equal(t, found, owner.OK("GET", base+"/invitations/"+found["id"].(string), nil))
	for _, c := range []*harness.Client{s.Admin, people.Person(s, other.User, s.Boot.OrganisationID)} {
		refused(t, c, map[bool]int{true: 404, false: 403}[c == s.Admin],
			map[bool]string{true: "not_found", false: "insufficient_scope"}[c == s.Admin], "GET", base+"/invitations", nil)
	}

	const accept = "/v1/invitations/accept"
	refused(t, ivy, 404, "not_found", "POST", accept, object{"token": first})
	refused(t, ivy, 404, "not_found", "POST", accept, object{"token": token + "x"})
	refused(t, ivy, 404, "not_found", "POST", accept, object{"token": ""})
	refused(t, oscar, 404, "not_found", "POST", accept, object{"token": token})
	refused(t, invited, 403, "sign_in_required", "POST", accept, object{"token": token})
	require.Equal(t, object{"organisationId": id, "role": "editor", "invitedBy": s.Boot.UserID, "inviterEmail": "admin@acme.example",
		"inviterName": ""}, ivy.OK("POST", accept, object{"token": token}))
	refused(t, ivy, 404, "not_found", "POST", accept, object{"token": token})
	require.Equal(t, "editor", people.Person(s, invited.User, id).OK("GET", "/v1/me", nil)["role"])
	require.Empty(t, open())
	refused(t, owner, 409, "already_exists", "POST", base+"/invite", object{"email": "ivy@acme.example", "role": "viewer"})

	// The address of a member of another organisation is invited like any other.
	owner.OK("POST", base+"/invite", object{"email": "oscar@acme.example", "role": "viewer"})
	token = s.MailedToken("oscar@acme.example")
	owner.OK("DELETE", base+"/invitations/"+open()[0].(object)["id"].(string), nil)
	refused(t, oscar, 404, "not_found", "POST", accept, object{"token": token})
	refused(t, owner, 404, "not_found", "DELETE", base+"/invitations/"+harness.MissingID, nil)
	for _, bad := range []string{"", "ivy", "\u0456vy@acme.example", "ivy@acm\u0435.example", "\u212Aim@acme.example", "x@service.invalid",
		"ivy@acme.example\r\nBcc: eve@acme.example", "ivy@acme.example, eve@acme.example"} {
		refused(t, owner, 422, "invalid_field", "POST", base+"/invite", object{"email": bad, "role": "viewer"})
	}
	builder := people.Person(s, invited.User, id)
	refused(t, builder, 403, "insufficient_scope", "POST", base+"/invite", object{"email": "new@acme.example", "role": "viewer"})
	require.Eventually(t, func() bool {
		entries := owner.OK("GET", base+"/audit?action=invitation.created", nil)["entries"].(list)
		for _, e := range entries {
			details := e.(object)["details"].(object)
			if e.(object)["userId"] == s.Boot.UserID && details["email"] == "ivy@acme.example" && details["role"] == "editor" {
				return true
			}
		}
		return false
	}, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		entries := owner.OK("GET", base+"/audit?action=invitation.accepted", nil)["entries"].(list)
		return len(entries) == 1 && entries[0].(object)["userId"] == invited.User && entries[0].(object)["outcome"] == "allow"
	}, time.Minute, 50*time.Millisecond)
}
