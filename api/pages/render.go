package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/api/browser"
)

//go:embed templates style.css
var files embed.FS

var style, styleHash = readStyle()

// readStyle returns the style sheet and the hash with which the policy allows it.
func readStyle() (template.CSS, string) {
	text, err := files.ReadFile("style.css")
	if err != nil {
		panic(err) // the file is embedded
	}
	sum := sha256.Sum256(text)
	return template.CSS(text), "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// templates maps the names of pages to their templates.
var templates = parseTemplates()

func parseTemplates() map[string]*template.Template {
	layout := template.Must(template.ParseFS(files, "templates/layout.html"))
	entries, err := files.ReadDir("templates")
	if err != nil {
		panic(err) // the directory is embedded
	}
	parsed := map[string]*template.Template{}
	for _, entry := range entries {
		if name, _ := strings.CutSuffix(entry.Name(), ".html"); name != "layout" {
			parsed[name] = template.Must(template.Must(layout.Clone()).ParseFS(files, "templates/"+entry.Name()))
		}
	}
	return parsed
}

// page is what a template shows.
type page struct {
	Title string
	// Problems are the invalid fields, in the order of the form.
	Problems []fieldProblem
	// Token is the token of the form, and Action its URL.
	Token, Action string
	// Continue is the URL at which the browser continues by itself, or empty.
	Continue string
	// Data depends on the page.
	Data any
	// Targets are the origins to which a form may lead in addition to the server itself.
	Targets []string

	Style template.CSS
}

// fieldProblem is an invalid field of a form. Field is empty for the form as a whole.
type fieldProblem struct{ Field, Message string }

// Problem returns the message about a field, or "".
func (p page) Problem(field string) string {
	for _, problem := range p.Problems {
		if problem.Field == field {
			return problem.Message
		}
	}
	return ""
}

// TokenField returns the name of the field of the form's token.
func (p page) TokenField() string { return tokenField }

// render writes a page with the headers that confine it.
func render(w http.ResponseWriter, status int, name string, shown page) {
	d := compose(status, name, shown)
	maps.Copy(w.Header(), d.Header)
	w.WriteHeader(d.Status)
	_, _ = w.Write(d.Body) // the client may have disconnected
}

// compose returns a page with the headers that confine it.
func compose(status int, name string, shown page) browser.Document {
	shown.Style = style
	var body bytes.Buffer
	if err := templates[name].ExecuteTemplate(&body, "layout", shown); err != nil {
		panic(err) // a defect of a template; the middleware answers 500
	}
	h := http.Header{}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	h.Set("Content-Security-Policy", policy(shown.Targets))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	return browser.Document{Status: status, Header: h, Body: body.Bytes()}
}

// policy returns the content security policy of a page. Browsers apply form-action to the
// redirects that answer a form, too, so it names the targets of these.
func policy(targets []string) string {
	return "default-src 'none'; style-src " + styleHash + "; form-action " + strings.Join(append([]string{"'self'"}, targets...), " ") +
		"; base-uri 'none'; frame-ancestors 'none'"
}
