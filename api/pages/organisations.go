package pages

import (
	"net/http"

	"github.com/lakewarden/lakewarden/auth/oauth"
	"github.com/lakewarden/lakewarden/auth/session"
)

// choiceData is the data of the page at which a person chooses an organisation.
type choiceData struct {
	Client  string
	Choices []choice
}

type choice struct{ Name, Link string }

// Choose lets the person choose the organisation that a client acts in. It implements a part of
// [oauth.Pages].
func (p *Pages) Choose(w http.ResponseWriter, r *http.Request, c oauth.Client, among []session.Organisation) {
	data := choiceData{Client: c.Name}
	for _, o := range among {
		query := r.URL.Query()
		query.Set("org", o.ID.String())
		data.Choices = append(data.Choices, choice{o.Name, r.URL.Path + "?" + query.Encode()})
	}
	render(w, http.StatusOK, "organisations", page{Title: "Choose an organisation", Data: data})
}

// Refuse shows why an authorization request is refused. It implements a part of [oauth.Pages].
func (p *Pages) Refuse(w http.ResponseWriter, status int, why string) {
	p.showMessage(w, status, "Access refused", message{Text: []string{"This sign-in link does not work. " + why}})
}
