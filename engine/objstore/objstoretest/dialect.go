package objstoretest

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Dialect is the form of the replies of a store over HTTP. Its methods test a provider against
// replies that a real store sends rarely. Each takes the provider's own cases in addition to those
// that hold for every store.
//
// The message of every refusal contains "secret", so that a test notices an error that quotes it.
type Dialect struct {
	// Open returns a bucket in the store at url, with limits that make no test wait.
	Open func(t *testing.T, url string) objstore.Bucket
	// Answer is a reply with an error code, which may be empty.
	Answer func(status int, code string) Step
	// List is a page of a listing; next is empty on the last one.
	List func(next string, names ...string) Step

	// Put and Delete are the replies to writes that succeed.
	Put, Delete Step
	// Exists is the reply to a conditional write of a name that exists.
	Exists Step
	// Deferred is the reply that a conditional write was not tried, and DeferredRequests the number
	// of requests after which the provider gives up.
	Deferred         Step
	DeferredRequests int
	// Throttled is the reply that the store gets too many requests.
	Throttled Step
	// Failure and Unavailable have the statuses 500 and 503.
	Failure, Unavailable Step
	// BadCredential and Denied are refusals of the credential, and of what it may do.
	BadCredential, Denied Step
	// NoBucket and NoObject are the replies for what is missing.
	NoBucket, NoObject Step
	// Replaced is the reply to a read of a content that another one has replaced.
	Replaced Step
	// NoRange is the reply to a range beyond the end of an object.
	NoRange Step

	// Resolution is that of the times of objects.
	Resolution time.Duration
	// Tag is the header that identifies a content.
	Tag string
	// Conditional checks a request of PutIfAbsent, and Resumed one that reads on the content of Tag.
	Conditional, Resumed func(t *testing.T, r *http.Request)
}

// WriteCase is the outcome of a write.
type WriteCase struct {
	Steps   []Step
	Outcome Outcome
	// Error is what the error is; nil is unspecified.
	Error    error
	Requests int
}

// script opens a bucket in a store that replies with steps.
func (d Dialect) script(t *testing.T, steps []Step) (objstore.Bucket, *Script) {
	t.Helper()
	store := NewScript(t, steps...)
	return d.Open(t, store.URL), store
}

// RunPutIfAbsent checks that a definite answer is given only if the store gave one to this very
// request, and that nothing is sent again after it may have taken effect. refusals are replies that
// the store did not write, with what the error is.
func (d Dialect) RunPutIfAbsent(t *testing.T, refusals map[string]Refusal, own map[string]WriteCase) {
	cases := map[string]WriteCase{
		"created":                   {[]Step{d.Put}, Written, nil, 1},
		"lost":                      {[]Step{d.Exists}, Exists, objstore.ErrExists, 1},
		"deferred, then created":    {[]Step{d.Deferred, d.Deferred, d.Put}, Written, nil, 3},
		"deferred, then lost":       {[]Step{d.Deferred, d.Exists}, Exists, objstore.ErrExists, 2},
		"deferred, then reply lost": {[]Step{d.Deferred, Lost, d.Exists}, Unknown, objstore.ErrUnknown, 2},
		"deferred for ever":         {[]Step{d.Deferred}, Untouched, objstore.ErrUnavailable, d.DeferredRequests},
		"reply lost after success":  {[]Step{Lost, d.Exists}, Unknown, objstore.ErrUnknown, 1},
		"no reply":                  {[]Step{Hang}, Unknown, objstore.ErrUnknown, 1},
		"500":                       {[]Step{d.Failure, d.Put}, Unknown, objstore.ErrUnknown, 1},
		"503":                       {[]Step{d.Unavailable, d.Put}, Unknown, objstore.ErrUnknown, 1},
		"timeout of a proxy":        {[]Step{d.Answer(504, "")}, Unknown, objstore.ErrUnknown, 1},
		"another proxy":             {[]Step{d.Answer(408, "")}, Unknown, objstore.ErrUnknown, 1},
		"half a reply":              {[]Step{Raw("HTTP/1.1 200 O")}, Unknown, objstore.ErrUnknown, 1},
		"no HTTP at all":            {[]Step{Raw("220 mail.example ready\r\n")}, Unknown, objstore.ErrUnknown, 1},
		"denied":                    {[]Step{d.Denied}, Untouched, objstore.ErrDenied, 1},
		"credential":                {[]Step{d.BadCredential}, Untouched, objstore.ErrCredential, 1},
		"no bucket":                 {[]Step{d.NoBucket}, Untouched, objstore.ErrNoBucket, 1},
		"redirect":                  {[]Step{Redirect}, Untouched, objstore.ErrUnavailable, 1},
	}
	for name, r := range refusals {
		cases[name] = WriteCase{[]Step{r.Reply}, Untouched, r.Error, 1}
	}
	maps.Copy(cases, own)
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			bucket, store := d.script(t, test.Steps)
			err := bucket.PutIfAbsent(t.Context(), "t/_delta_log/0.json", []byte("commit"))
			require.Equal(t, test.Outcome, OutcomeOf(err), "%v", err)
			require.Len(t, store.Seen(), test.Requests)
			if test.Error != nil {
				require.ErrorIs(t, err, test.Error)
				require.NotContains(t, err.Error(), "secret")
				require.NotContains(t, err.Error(), "127.0.0.1")
			}
			if test.Outcome == Unknown {
				require.NotErrorIs(t, err, objstore.ErrUnavailable, "which promises that nothing was written")
			}
			for _, r := range store.Seen() {
				d.Conditional(t, r)
			}
		})
	}
}

// Refusal is a reply with what its error is.
type Refusal struct {
	Reply Step
	Error error
}

// RunPlainWrites checks that a put of the same content and a delete may be sent twice, but that an
// attempt that may have taken effect stays unknown.
func (d Dialect) RunPlainWrites(t *testing.T) {
	for kind, write := range map[string]struct {
		do   func(context.Context, objstore.Bucket) error
		done Step
	}{
		"put": {func(ctx context.Context, b objstore.Bucket) error {
			return b.Put(ctx, "o", strings.NewReader("x"), 1)
		}, d.Put},
		"delete": {func(ctx context.Context, b objstore.Bucket) error { return b.Delete(ctx, "o") }, d.Delete},
	} {
		for name, test := range map[string]WriteCase{
			"503, then done":         {Steps: []Step{d.Unavailable, write.done}, Outcome: Written, Requests: 2},
			"throttled, then done":   {Steps: []Step{d.Throttled, write.done}, Outcome: Written, Requests: 2},
			"reply lost, then done":  {Steps: []Step{Lost, write.done}, Outcome: Written, Requests: 2},
			"503 forever":            {Steps: []Step{d.Unavailable}, Outcome: Unknown, Requests: 3},
			"500, then denied":       {Steps: []Step{d.Answer(500, ""), d.Denied}, Outcome: Unknown, Requests: 2},
			"a hang is not repeated": {Steps: []Step{Hang}, Outcome: Unknown, Requests: 1},
			"denied":                 {Steps: []Step{d.Denied}, Outcome: Untouched, Requests: 1},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				bucket, store := d.script(t, test.Steps)
				err := write.do(t.Context(), bucket)
				require.Equal(t, test.Outcome, OutcomeOf(err), "%v", err)
				require.Len(t, store.Seen(), test.Requests)
			})
		}
	}
}
