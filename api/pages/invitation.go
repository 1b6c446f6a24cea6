package pages

import (
	"context"
	"errors"
	"net/http"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/catalog"
)

// Joining accepts invitations: [identity.Joining].
type Joining interface {
	Open(ctx context.Context, token string) (catalog.OpenInvitation, error)
	WithNewPassword(ctx context.Context, token, displayName, password string, from identity.Origin) (identity.SignedIn, error)
	WithPassword(ctx context.Context, token, password string, from identity.Origin) (identity.SignedIn, error)
}

// invitationData is the data of the page that accepts an invitation.
type invitationData struct {
	Organisation, OrganisationID, Role, Email, Link, Name string
	// Inviter and InviterEmail may be empty.
	Inviter, InviterEmail string
	// Known reports that the person has a password.
	Known bool
}

// invitationNames maps fields of the use case to those of the form.
var invitationNames = map[string]string{"display_name": "name"}

func (p *Pages) showInvitation(w http.ResponseWriter, r *http.Request) {
	p.renderInvitation(w, r, formFailure{status: http.StatusOK}, r.URL.Query().Get("token"), "")
}

// renderInvitation shows the invitation of a link, which remains usable. name is the name
// that the person has entered.
func (p *Pages) renderInvitation(w http.ResponseWriter, r *http.Request, f formFailure, link, name string) {
	if link == "" || len(link) > maxLinkToken {
		p.failInvitation(w, r, identity.ErrLink)
		return
	}
	open, err := p.Joining.Open(r.Context(), link)
	if err != nil {
		p.failInvitation(w, r, err)
		return
	}
	retryAfter(w, f.wait)
	render(w, f.status, "invitation", page{
		Title: "Accept the invitation", Problems: f.problems, Token: p.formToken(w, r, identity.InvitationPath), Action: identity.InvitationPath,
		Data: invitationData{
			Organisation: open.Organisation, OrganisationID: string(open.Org), Inviter: open.InviterName, InviterEmail: open.InviterEmail,
			Role: string(open.Role), Email: open.Email, Link: link, Name: name[:min(len(name), maxName)],
			Known: open.Password,
		},
	})
}

// maxName bounds a display name that a page shows, in bytes.
const maxName = 1000

// acceptInvitation makes the invited person a member and signs the browser in.
func (p *Pages) acceptInvitation(w http.ResponseWriter, r *http.Request) {
	link, name := r.PostForm.Get("token"), r.PostForm.Get("name")
	if len(link) > maxLinkToken {
		p.failInvitation(w, r, identity.ErrLink)
		return
	}
	in, f, err := p.accept(r, link, name)
	if f.problems != nil {
		p.renderInvitation(w, r, f, link, name)
		return
	}
	if err == nil {
		p.signedIn(w, r, in, "")
		return
	}
	if f, ok := failureOf(err, invitationNames); ok {
		p.renderInvitation(w, r, f, link, name)
	} else if errors.Is(err, catalog.ErrExists) { // the person has set a password meanwhile
		p.renderInvitation(w, r, formFailure{status: http.StatusUnprocessableEntity, problems: []fieldProblem{
			{"password", "This account has a password already. Enter it."},
		}}, link, name)
	} else {
		p.failInvitation(w, r, err)
	}
}

// accept calls the use case that fits the form: that of a person with a password, or that
// of one without, who enters a new one twice.
func (p *Pages) accept(r *http.Request, link, name string) (in identity.SignedIn, f formFailure, err error) {
	if !r.PostForm.Has("repeat") {
		in, err = p.Joining.WithPassword(r.Context(), link, r.PostForm.Get("password"), originOf(r))
		return in, f, err
	}
	password, f := newPassword(r)
	if f.problems == nil {
		in, err = p.Joining.WithNewPassword(r.Context(), link, name, password, originOf(r))
	}
	return in, f, err
}

// failInvitation is fail for links of invitations.
func (p *Pages) failInvitation(w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, identity.ErrLink) {
		p.fail(w, r, err)
		return
	}
	p.showMessage(w, http.StatusNotFound, "This link does not work", message{Text: []string{
		"The invitation was accepted already, has expired, or was withdrawn.", "Ask an administrator of the organisation for a new one.",
	}})
}
