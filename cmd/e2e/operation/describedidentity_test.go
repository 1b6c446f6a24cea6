package operation_test

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/session"
	"github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// describedPeople has the operations on organisations, members and invitations succeed.
func describedPeople(c *describedCalls, s *harness.Server, issuer harness.Signer) {
	org := s.Boot.OrganisationID
	added := c.Call(s.Admin, 201, "createUser", []string{org}, object{"email": "bea@acme.example", "role": "admin"})["userId"].(string)
	owner := issuer.Person(s, s.Boot.UserID, org)
	c.Call(owner, 200, "transferOrganisation", []string{org}, object{"userId": added})
	c.Call(issuer.Person(s, added, org), 200, "transferOrganisation", []string{org}, object{"userId": s.Boot.UserID})
	identity := object{"issuer": "https://id.example", "subject": "bea"}
	bound := c.Call(owner, 201, "bindUserIdentity", []string{org, added}, identity)["id"].(string)
	c.Call(owner, 200, "listUserIdentities", []string{org, added}, nil)
	c.Call(owner, 200, "releaseUserIdentity", []string{org, added, bound}, nil)
	c.Call(owner, 200, "listUserIdentities", []string{org, added}, nil)
	c.Call(owner, 201, "bindUserIdentity", []string{org, added}, identity)
	c.Call(owner, 200, "releaseIdentities", []string{org, "?issuer=https://id.example&dry_run=true"}, nil)
	c.Call(owner, 200, "releaseIdentities", []string{org, "?issuer=https://id.example"}, nil)
	c.Call(s.Admin, 200, "deleteUser", []string{org, added}, nil)
	c.Call(owner, 200, "updateMe", nil, object{"displayName": "Ada"})
	c.Call(owner, 200, "updateOrganisation", []string{org}, object{"name": "Acme"})
	leaving := s.Member("dee@acme.example", "viewer", nil)
	c.Call(issuer.Person(s, leaving.User, org), 200, "deleteUser", []string{org, leaving.User}, nil)
	c.Call(issuer.Person(s, leaving.User, ""), 200, "deleteMe", []string{"?dry_run=true"}, nil)
	c.Call(issuer.Person(s, leaving.User, ""), 200, "deleteMe", nil, nil)
	c.Call(owner, 409, "deleteMe", nil, nil)
	nowhere := issuer.Person(s, s.Boot.UserID, "")
	c.Call(nowhere, 200, "getMe", nil, nil)

	c.Call(nowhere, 200, "listMySessions", nil, nil)
	mine, hers := newSession(s, s.Boot.UserID), newSession(s, s.Boot.UserID)
	c.Call(nowhere, 200, "endMySession", []string{mine}, nil)
	c.Call(owner, 200, "listUserSessions", []string{org, s.Boot.UserID}, nil)
	c.Call(owner, 200, "endUserSession", []string{org, s.Boot.UserID, hers}, nil)

	made := c.Call(nowhere, 201, "createOrganisation", nil, object{"name": "Second"})["id"].(string)
	second := issuer.Person(s, s.Boot.UserID, made)
	c.Call(second, 200, "inviteUser", []string{made}, object{"email": "cy@acme.example", "role": "viewer"})
	open := c.Call(second, 200, "listInvitations", []string{made}, nil)["invitations"].(list)[0].(object)["id"].(string)
	c.Call(second, 200, "getInvitation", []string{made, open}, nil)
	s.MailedToken("cy@acme.example") // of the invitation that is deleted
	c.Call(second, 200, "deleteInvitation", []string{made, open}, nil)
	c.Call(second, 200, "inviteUser", []string{made}, object{"email": "cy@acme.example", "role": "viewer"})
	invited := s.Member("cy@acme.example", "viewer", nil)
	c.Call(issuer.Person(s, invited.User, org), 200, "acceptInvitation", nil, object{"token": s.MailedToken("cy@acme.example")})
	c.Call(second, 200, "deleteOrganisation", []string{made}, nil)
	c.Call(nowhere, 200, "listOrganisations", nil, nil)
	c.Call(nowhere, 200, "undeleteOrganisation", []string{made}, nil)
}

// newSession returns the id of a new session of a person in a browser.
func newSession(s *harness.Server, user string) string {
	store, err := s.OpenCatalog(s.T.Context())
	require.NoError(s.T, err)
	defer func() { require.NoError(s.T, store.Close()) }()
	made, err := sqlstore.New(store.DB()).CreateSession(s.T.Context(), session.Session{User: uuid.MustParse(user),
		Method: session.MethodPassword, ExpiresAt: time.Now().Add(time.Hour)})
	require.NoError(s.T, err)
	return made.ID.String()
}

// describedClients has the operations on clients, service accounts, provider
// applications and access to models succeed.
func describedClients(c *describedCalls, s *harness.Server, issuer harness.Signer) {
	org := s.Boot.OrganisationID
	owner := issuer.Person(s, s.Boot.UserID, org)
	made := c.Call(owner, 201, "createClient", []string{org}, object{"name": "Notebook", "redirectUris": list{"https://app.example/cb"}})
	client := []string{org, made["client"].(object)["id"].(string)}
	c.Call(owner, 200, "listClients", []string{org}, nil)
	c.Call(owner, 200, "getClient", client, nil)
	c.Call(owner, 200, "updateClient", client, object{"name": "Notebooks"})
	c.Call(owner, 200, "rotateClientSecret", client, object{"grace_seconds": 60})
	c.Call(owner, 200, "deleteClient", client, nil)

	made = c.Call(owner, 201, "createServiceAccount", []string{org}, object{"name": "Loader", "role": "editor"})
	account := []string{org, made["serviceAccount"].(object)["id"].(string)}
	c.Call(owner, 200, "listServiceAccounts", []string{org}, nil)
	c.Call(owner, 200, "getServiceAccount", account, nil)
	c.Call(owner, 200, "updateServiceAccount", account, object{"name": "Loaders"})
	c.Call(owner, 200, "rotateServiceAccountSecret", account, nil)
	c.Call(owner, 201, "createServiceAccountApiKey", account, object{"name": "nightly"})
	c.Call(owner, 200, "getUser", account, nil)
	c.Call(owner, 200, "deleteServiceAccount", account, nil)

	app := []string{org, "provider_three"}
	c.Call(owner, 200, "putProviderApp", app, object{"clientId": "x", "clientSecret": "y", "tenant": "common"})
	c.Call(owner, 200, "listProviderApps", []string{org}, nil)
	c.Call(owner, 200, "getProviderApp", app, nil)
	c.Call(owner, 200, "beginProviderLink", app, nil)
	c.Call(owner, 200, "listProviderLinks", []string{org}, nil)
	c.Call(owner, 200, "deleteProviderApp", app, nil)

	family := []string{org, "familyB"}
	c.Call(owner, 200, "putAnalysisProvider", family, object{"key": "x"})
	c.Call(owner, 200, "listAnalysisProviders", []string{org}, nil)
	c.Call(owner, 200, "getAnalysisProvider", family, nil)
	c.Call(owner, 200, "listAnalysisModels", nil, nil)
	c.Call(owner, 200, "deleteAnalysisProvider", family, nil)

	c.Call(owner, 200, "recoverUser", []string{org}, object{"email": "nobody@acme.example"})
	c.Call(s.Client("", ""), 200, "recover", nil, object{"email": "nobody@acme.example"})
}
