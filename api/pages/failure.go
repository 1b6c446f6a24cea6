package pages

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/catalog"
)

// formFailure is how a form answers an error: the page again, with its problems.
type formFailure struct {
	status   int
	problems []fieldProblem
	// wait is when the client should try again; 0 for no particular time.
	wait time.Duration
}

// failureOf returns the answer of a form to an error that the person can correct. ok is
// false for other errors. names maps the fields of use cases to those of the form that have
// another name.
func failureOf(err error, names map[string]string) (f formFailure, ok bool) {
	var fields catalog.FieldErrors
	var many *throttle.TooManyError
	switch {
	case errors.As(err, &fields):
		f.status = http.StatusUnprocessableEntity
		for _, field := range fields {
			name, message := field.Field, sentence(field.Message)
			if known := names[name]; known != "" {
				name = known
			}
			f.problems = append(f.problems, fieldProblem{name, message})
		}
	case errors.Is(err, identity.ErrCredential):
		f.status = http.StatusUnprocessableEntity
		f.problems = []fieldProblem{{"", "The e-mail address or the password is wrong."}}
	case errors.As(err, &many):
		f.status, f.wait = http.StatusTooManyRequests, many.Wait
		f.problems = []fieldProblem{{"", "Too many attempts have failed. Try again " + inMinutes(many.Wait) + "."}}
	default:
		return f, false
	}
	return f, true
}

// sentence returns a message about a field as it stands next to the field.
func sentence(message string) string { return "This " + message + "." }

// inMinutes returns when a wait ends, in words.
func inMinutes(wait time.Duration) string {
	if minutes := int((wait + time.Minute - 1) / time.Minute); minutes > 1 {
		return fmt.Sprintf("in %d minutes", minutes)
	}
	return "in a minute"
}

// retryAfter sets the header of replies to clients that should wait.
func retryAfter(w http.ResponseWriter, wait time.Duration) {
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
}

// message is the data of the page that shows a message and nothing else.
type message struct {
	Text []string
	// Link and Label are a way to go on; both may be empty.
	Link, Label string
	// RequestID helps to find the request in the log; it is empty unless something failed.
	RequestID string
	// SignOut reports that the page offers to sign out.
	SignOut bool
}

// fail shows an error that the person cannot correct.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, identity.ErrLink) {
		p.showMessage(w, http.StatusNotFound, "This link does not work", message{
			Text: []string{"It was used already, has expired, or was replaced by a newer one."},
			Link: identity.RecoverPath, Label: "Get a new link",
		})
		return
	}
	var reply *problem.Reply
	if !errors.As(problem.Respond(r.Context(), err, false), &reply) {
		panic(err) // unreachable: every error has a reply
	}
	for name, values := range reply.GetHeaders() {
		w.Header()[name] = values
	}
	status := reply.GetStatus()
	if status == problem.StatusClientClosed {
		w.WriteHeader(status)
		return
	}
	p.showMessage(w, status, "Something went wrong", message{
		Text: []string{reply.Message, "Try again in a while."}, RequestID: problem.RequestID(r.Context()),
	})
}

// refuseForm answers a form that did not come from the server's own page.
func (p *Pages) refuseForm(w http.ResponseWriter, err error) {
	if errors.Is(err, errForm) {
		p.showMessage(w, http.StatusBadRequest, "This form cannot be read", message{Text: []string{"Open the page again and fill it in."}})
		return
	}
	p.showMessage(w, http.StatusForbidden, "This page has expired", message{
		Text: []string{"Nothing was changed. Open the page again and fill it in. The browser must accept cookies of this server."},
	})
}

func (p *Pages) showMessage(w http.ResponseWriter, status int, title string, m message) {
	render(w, status, "message", page{Title: title, Data: m})
}
