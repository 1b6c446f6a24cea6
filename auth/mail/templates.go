package mail

import (
	"bytes"
	"embed"
	htmltemplate "html/template"
	"strings"
	texttemplate "text/template"
	"unicode"
)

//go:embed templates
var files embed.FS

var (
	texts = texttemplate.Must(texttemplate.ParseFS(files, "templates/*.txt"))
	pages = htmltemplate.Must(htmltemplate.ParseFS(files, "templates/*.html"))
)

// Invitation is the content of an e-mail that invites somebody to an organisation.
type Invitation struct {
	// Organisation is the name that its administrators chose.
	Organisation   string
	OrganisationID string
	// Inviter is the name that the member who invites chose, and InviterEmail the member's
	// address. Both may be empty.
	Inviter, InviterEmail string
	Role                  string
	// Link is the address of the page that accepts the invitation.
	Link string
	// Valid is how long the link works, such as "7 days".
	Valid string
}

// Message returns the e-mail to an address.
func (i Invitation) Message(to string) Message {
	i.Organisation = plainName(i.Organisation, "an organisation")
	i.Inviter = plainName(i.Inviter, "An administrator")
	if strings.ContainsFunc(i.InviterEmail, notInAddress) {
		i.InviterEmail = ""
	}
	return compose(to, "Invitation to "+i.Organisation+" on Lakewarden", "invitation", i)
}

// Recovery is the content of an e-mail with which somebody sets a new password.
type Recovery struct {
	// Link is the address of the page that sets the password.
	Link string
	// Valid is how long the link works, such as "1 hour".
	Valid string
}

// Message returns the e-mail to an address.
func (r Recovery) Message(to string) Message {
	return compose(to, "Set a new password for Lakewarden", "recovery", r)
}

func compose(to, subject, name string, data any) Message {
	var text, page bytes.Buffer
	if err := texts.ExecuteTemplate(&text, name+".txt", data); err != nil {
		panic(err) // the templates are constants, and the data are structs of texts
	}
	if err := pages.ExecuteTemplate(&page, name+".html", data); err != nil {
		panic(err)
	}
	return Message{To: to, Subject: subject, Text: text.String(), HTML: page.String()}
}

// maxName is the length of a name in an e-mail, in characters.
const maxName = 60

// plainName returns a name, or other if nothing remains of it, without the characters from which readers of e-mails make
// links, and without those that change the direction or the lines of text. An
// organisation named "Locked! Visit evil.example" must not turn the server's e-mails into
// somebody else's.
func plainName(name, other string) string {
	kept := strings.Map(func(c rune) rune {
		if unicode.In(c, unicode.L, unicode.M, unicode.N) || strings.ContainsRune("-_'&()+,", c) {
			return c
		}
		return ' '
	}, name)
	runes := []rune(strings.Join(strings.Fields(kept), " "))
	if len(runes) == 0 {
		return other
	}
	if len(runes) > maxName {
		return strings.TrimSpace(string(runes[:maxName])) + "…"
	}
	return string(runes)
}
