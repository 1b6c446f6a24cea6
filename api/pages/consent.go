package pages

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/oauth"
)

var _ oauth.Pages = (*Pages)(nil)

// Names tells what the page of consent calls people and organisations:
// [identity.Names].
type Names interface {
	// Names returns the e-mail address of a person and the name of an organisation, which is empty
	// for [uuid.Nil].
	Names(ctx context.Context, user, org uuid.UUID) (email, organisation string, err error)
}

// consentData is the data of the page of consent.
type consentData struct {
	Client, Host, Email string
	// Organisation is empty for a person without one. Others reports whether the client may also
	// request tokens for the person's other organisations later.
	Organisation string
	Others       bool
	// Local reports whether Host is the person's own machine.
	Local bool
	// Unknown reports that nobody vouches for the client, and Publisher is the host of the document
	// that describes it, or empty.
	Unknown   bool
	Publisher string
	Scopes    []scopeText
}

type scopeText struct{ Name, Text string }

// Consent asks the person whether a client may act in the person's name. It implements a
// part of [oauth.Pages].
func (p *Pages) Consent(w http.ResponseWriter, r *http.Request, c oauth.ConsentRequest) (approved, done bool) {
	// The client may change after the page is shown. The answer is to what was shown.
	form := strings.Join([]string{r.URL.Path, c.Client.ID, c.Redirect, c.Org.String(), strconv.FormatBool(c.OpenID), c.Scopes.String()}, " ")
	if r.Method == http.MethodPost {
		if err := p.readFormOf(w, r, form); err != nil {
			p.refuseForm(w, err)
			return false, true
		}
		return r.PostForm.Get("decision") == "allow", false
	}
	email, organisation, err := p.Names.Names(r.Context(), c.Session.User, c.Org)
	if err != nil {
		p.fail(w, r, err)
		return false, true
	}
	data := consentData{Client: c.Client.Name, Host: c.Redirect, Email: email, Organisation: organisation,
		Others: c.Client.Org == uuid.Nil && !c.Client.Open && c.Session.Org == uuid.Nil, Local: c.Native && c.Client.Org == uuid.Nil,
		Unknown: c.Client.Open, Publisher: c.Client.Publisher}
	if c.OpenID {
		data.Scopes = append(data.Scopes, scopeText{oauth.ScopeOpenID, "Learn who you are: your e-mail address and your name"})
	}
	for _, scope := range c.Scopes.Strings() {
		data.Scopes = append(data.Scopes, scopeText{scope, scopeTexts[auth.Scope(scope)]})
	}
	render(w, http.StatusOK, "consent", page{
		Title: "Allow access?", Token: p.formToken(w, r, form), Action: r.URL.RequestURI(), Data: data,
		Targets: targetOf(r.URL.Query().Get("redirect_uri")),
	})
	return false, true
}

// origin matches the origins that a content security policy can name.
var origin = regexp.MustCompile(`^https?://[a-z0-9.-]+(:[0-9]{1,5})?$`)

// targetOf returns the sources of a policy that cover a redirect URI. The language of
// policies has no IPv6 addresses, so one is covered by its scheme.
func targetOf(redirectURI string) []string {
	u, err := url.Parse(redirectURI)
	if err != nil {
		return nil
	}
	if o := u.Scheme + "://" + u.Host; origin.MatchString(o) {
		return []string{o}
	}
	if u.Scheme == "http" && u.Hostname() == "::1" {
		return []string{"http:"}
	}
	return nil
}

// scopeTexts describes each scope to people.
var scopeTexts = map[auth.Scope]string{
	auth.ScopeOrgRead:             "See the organisation, its members and its workspaces",
	auth.ScopeTablesRead:          "See tables and their columns",
	auth.ScopeTablesQuery:         "Read the rows that you may read",
	auth.ScopeDomainsRead:         "See the allowed values of columns",
	auth.ScopeStorageRead:         "See storage configurations, without their credentials",
	auth.ScopeRowsInsert:          "Insert rows",
	auth.ScopeRowsUpdate:          "Change rows",
	auth.ScopeRowsDelete:          "Delete rows",
	auth.ScopeTablesCreate:        "Create tables",
	auth.ScopeTablesModify:        "Change and drop tables",
	auth.ScopeDomainsWrite:        "Change the allowed values of columns",
	auth.ScopeStorageWrite:        "Move and delete stored objects",
	auth.ScopeStorageConfigure:    "Change storage configurations and their credentials",
	auth.ScopeStorageConfigsShare: "Share storage configurations with workspaces",
	auth.ScopePoliciesRead:        "See the policies of rows and columns",
	auth.ScopeAPIKeysCreate:       "Manage your API keys",
	auth.ScopePoliciesWrite:       "Change the policies of rows and columns, and the attributes of members",
	auth.ScopeProviderAppsWrite:   "Manage provider applications",
	auth.ScopeOrgUpdate:           "Change the organisation, its single sign-on and its e-mail domains",
	auth.ScopeUsersWrite:          "Manage members, invitations, service accounts and clients",
}
