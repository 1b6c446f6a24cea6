package pages

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/auth/session"
)

// maxForm bounds the body of a form, in bytes.
const maxForm = 16 << 10

// tokenField is the hidden field that holds the token of a form.
const tokenField = "form_token"

var (
	errForm  = errors.New("not a form")
	errToken = errors.New("form of another browser or page")
)

// formToken returns the token of a form, named by its path, and sets the cookie that it is bound
// to if the browser has none. The token is bound to the sign-in of the browser, too.
func (p *Pages) formToken(w http.ResponseWriter, r *http.Request, form string) string {
	secret := p.Cookies.Read(r, browser.Form)
	if secret == "" {
		secret = session.NewSecret()
		cookie := p.Cookies.New(browser.Form, secret, 0)
		http.SetCookie(w, cookie)
		r.AddCookie(cookie) // for the other forms of the page
	}
	return bind(secret, p.Cookies.Read(r, browser.SignedIn), form)
}

// bind derives the token of a form. Its inputs other than the name are secrets, so that
// nobody else can derive it.
func bind(secret, signedIn, form string) string {
	sum := sha256.Sum256([]byte("lakewarden form\x00" + secret + "\x00" + signedIn + "\x00" + form))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// sameOrigin refuses requests that browsers mark as coming from elsewhere.
var sameOrigin = http.NewCrossOriginProtection()

// readForm parses the form of a POST and verifies that it comes from the server's own page
// at the same path in this browser.
func (p *Pages) readForm(w http.ResponseWriter, r *http.Request) error {
	return p.readFormOf(w, r, r.URL.Path)
}

// readFormOf is readForm for a form whose token is bound to more than its path.
func (p *Pages) readFormOf(w http.ResponseWriter, r *http.Request, form string) error {
	// Pages send no referrer. Browsers that do not know Sec-Fetch-Site then send the
	// origin null, also to the same origin. The token remains.
	if r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "null" {
		if err := sameOrigin.Check(r); err != nil {
			return errToken
		}
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return errForm
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return errForm
	}
	secret := p.Cookies.Read(r, browser.Form)
	expected := bind(secret, p.Cookies.Read(r, browser.SignedIn), form)
	if secret == "" || subtle.ConstantTimeCompare([]byte(r.PostForm.Get(tokenField)), []byte(expected)) != 1 {
		return errToken
	}
	return nil
}

// posted returns a handler that calls serve with a verified form.
func (p *Pages) posted(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := p.readForm(w, r); err != nil {
			p.refuseForm(w, err)
			return
		}
		serve(w, r)
	}
}
