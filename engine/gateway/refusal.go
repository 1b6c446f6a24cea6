package gateway

import (
	"encoding/xml"
	"errors"
	"net/http"
	"strconv"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// refusal is an error response in the form of S3.
type refusal struct {
	status  int
	code    string
	message string
}

// Error implements error, so that the operations can return a refusal.
func (f *refusal) Error() string { return f.code }

// The refusals. A name that a key does not open gets the same response whether it exists or not.
var (
	refuseAccess    = &refusal{http.StatusForbidden, "AccessDenied", "Access Denied"}
	refuseKey       = &refusal{http.StatusForbidden, "InvalidAccessKeyId", "The access key does not exist."}
	refuseTime      = &refusal{http.StatusForbidden, "RequestTimeTooSkewed", "The date of the request is too far from now."}
	refuseSignature = &refusal{http.StatusForbidden, "SignatureDoesNotMatch", "The signature does not match the request."}
	refuseIdle      = &refusal{http.StatusForbidden, "AccessDenied", "No statement runs."}
	refuseMethod    = &refusal{http.StatusMethodNotAllowed, "MethodNotAllowed", "The endpoint is read-only."}
	refuseBody      = &refusal{http.StatusBadRequest, "InvalidRequest", "The request has a body."}
	refuseArgument  = &refusal{http.StatusBadRequest, "InvalidArgument", "The request has an argument that is not supported."}
	refuseMissing   = &refusal{http.StatusNotFound, "NoSuchKey", "The object does not exist."}
	refuseMatch     = &refusal{http.StatusPreconditionFailed, "PreconditionFailed", "The object has another tag."}
	refuseRange     = &refusal{http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The range lies outside of the object."}
	// refuseStore and refuseEnded are 400 on purpose: the Delta kernel retries 5xx and 429 up to
	// eleven times.
	refuseStore = &refusal{http.StatusBadRequest, "StoreFailed", "The store failed."}
	refuseEnded = &refusal{http.StatusBadRequest, "RequestCancelled", "The statement has ended."}
)

// refusalOf translates an error of a store.
func refusalOf(err error) *refusal {
	switch {
	case errors.Is(err, objstore.ErrNotFound):
		return refuseMissing
	case errors.Is(err, objstore.ErrInvalidName):
		return refuseAccess
	}
	return refuseStore
}

type errorBody struct {
	XMLName xml.Name `xml:"Error"`
	Code    string   `xml:"Code"`
	Message string   `xml:"Message"`
}

// write sends the refusal. It contains nothing from the request.
func (f *refusal) write(w http.ResponseWriter, method string) {
	if f == refuseMethod {
		w.Header().Set("Allow", "GET, HEAD")
	}
	writeXML(w, method, f.status, errorBody{Code: f.code, Message: f.message})
}

func writeXML(w http.ResponseWriter, method string, status int, body any) {
	text, err := xml.Marshal(body)
	if err != nil { // a defect: only structs of this package are encoded
		panic(err)
	}
	text = append([]byte(xml.Header), text...)
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	if method != http.MethodHead {
		_, _ = w.Write(text) // fails if the client has disconnected
	}
}
