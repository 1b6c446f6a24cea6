package browser

import (
	"net/http"
	"strings"
	"time"
)

// Cookie is the name of a cookie, without a prefix.
type Cookie string

// The cookies.
const (
	// SignedIn proves that the browser is signed in at the server's own pages.
	SignedIn Cookie = "lakewarden"
	// Known marks a browser in which a person signed in.
	Known Cookie = "lakewarden-known"
	// Form binds the forms of pages to the browser.
	Form Cookie = "lakewarden-form"
	// State binds a sign-in at an identity provider to the browser.
	State Cookie = "lakewarden-sso"
	// Link binds the link to a provider of storage to the browser.
	Link Cookie = "lakewarden-link"
	// Proposal names the subject of an identity provider that the browser has proved and its user
	// has to confirm.
	Proposal Cookie = "lakewarden-identity"
)

// maxValue bounds the value of a cookie, in bytes.
const maxValue = 200

// Cookies makes and reads cookies for the whole server.
type Cookies struct{ secure bool }

// NewCookies returns the cookies of the server at a public URL. With https, their names
// have a prefix with which browsers accept them from the host itself only, so that no other
// host of the domain can set them.
func NewCookies(publicURL string) Cookies { return Cookies{strings.HasPrefix(publicURL, "https://")} }

func (c Cookies) name(name Cookie) string {
	if c.secure {
		return "__Host-" + string(name)
	}
	return string(name)
}

// New returns a cookie that the browser forgets after life, or when it ends if life is 0. It
// is also sent when another site leads the browser to the server.
func (c Cookies) New(name Cookie, value string, life time.Duration) *http.Cookie {
	return &http.Cookie{Name: c.name(name), Value: value, Path: "/", MaxAge: int(life / time.Second), HttpOnly: true, Secure: c.secure,
		SameSite: http.SameSiteLaxMode}
}

// Delete returns a cookie that makes the browser forget the one with its name.
func (c Cookies) Delete(name Cookie) *http.Cookie {
	deleted := c.New(name, "", 0)
	deleted.MaxAge = -1
	return deleted
}

// Read returns the value of a request's cookie, or "" without one. A value that the server
// cannot have set counts as none.
func (c Cookies) Read(r *http.Request, name Cookie) string {
	found, err := r.Cookie(c.name(name))
	if err != nil || len(found.Value) > maxValue {
		return ""
	}
	return found.Value
}
