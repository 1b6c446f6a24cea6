package problem

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Validation makes the reply for what the framework itself finds wrong with a
// request. It is meant to be set as huma.NewErrorWithContext. What the client
// sent is never repeated.
func Validation(ctx huma.Context, status int, _ string, errs ...error) huma.StatusError {
	reply := validate(ctx, status, errs)
	for name, values := range reply.headers {
		for _, value := range values {
			ctx.SetHeader(name, value)
		}
	}
	return reply
}

// validate examines each error once and keeps the first [maxDetails] that name a
// field, without the values: one body can have a hundred thousand errors.
func validate(ctx huma.Context, status int, errs []error) *Reply {
	refusal := &Refusal{Code: validationCode(status)}
	found := &invalid{total: len(errs)}
	var (
		detail   *huma.ErrorDetail
		done     *Reply
		own      *Refusal
		tooLarge *http.MaxBytesError
	)
	for _, err := range errs {
		switch {
		case errors.As(err, &detail):
			found.add(detail, status)
		case errors.As(err, &done):
			return done
		case errors.As(err, &own):
			return respond(ctx.Context(), own, false)
		case errors.As(err, &tooLarge):
			refusal.Code = "payload_too_large"
		case status >= http.StatusInternalServerError:
			return respond(ctx.Context(), err, false)
		}
	}
	if status >= http.StatusInternalServerError && refusal.Code != "payload_too_large" {
		return respond(ctx.Context(), found, false)
	}
	refusal.Details, refusal.Cause = found.details, found
	if status == http.StatusUnsupportedMediaType {
		refusal.Details = []Detail{{Field: "Content-Type", Message: "must be " + mediaTypes(ctx)}}
	}
	return respond(ctx.Context(), refusal, false)
}

// mediaTypes returns the media types that an operation accepts.
func mediaTypes(ctx huma.Context) string {
	var list []string
	if op := ctx.Operation(); op != nil && op.RequestBody != nil {
		list = slices.Sorted(maps.Keys(op.RequestBody.Content))
	}
	if len(list) == 0 {
		return "application/json"
	}
	return strings.Join(list, " or ")
}

// invalid holds the framework's validation errors in a form that may be logged.
type invalid struct {
	total   int
	details []Detail
}

// Error returns the errors' first field.
func (e *invalid) Error() string {
	if len(e.details) == 0 {
		return "the request is not valid"
	}
	return fmt.Sprintf("%d problems, the first: %s %s", e.total, e.details[0].Field, e.details[0].Message)
}

// add records a detail. If the body cannot be parsed, only errors about the bounds of
// JSON are recorded, because the decoder words these for clients.
func (e *invalid) add(d *huma.ErrorDetail, status int) {
	if len(e.details) == maxDetails {
		return
	}
	detail := validationDetail(d)
	if status == http.StatusUnprocessableEntity || status == http.StatusBadRequest && detail.Message != notValid {
		e.details = append(e.details, detail)
	}
}

// validationCode maps the framework's statuses to the ones of the interface.
func validationCode(status int) string {
	switch status {
	case http.StatusUnprocessableEntity:
		return "invalid_field"
	case http.StatusUnsupportedMediaType:
		return "unsupported_media_type"
	case http.StatusNotAcceptable:
		return "not_acceptable"
	case http.StatusRequestEntityTooLarge:
		return "payload_too_large"
	case http.StatusBadRequest, http.StatusRequestTimeout:
		return "invalid_body"
	case http.StatusNotFound:
		return "not_found"
	}
	return "invalid_request"
}

// validationDetail names the field at fault: of a missing property the property
// itself, where the framework names what lacks it.
func validationDetail(d *huma.ErrorDetail) Detail {
	if name, ok := strings.CutPrefix(d.Message, "expected required property "); ok {
		if name, ok = strings.CutSuffix(name, " to be present"); ok {
			return Detail{Field: location(shortened(d.Location, maxField) + "." + name), Message: "is required"}
		}
	}
	return Detail{Field: location(d.Location), Message: validationMessage(d.Message)}
}

// location drops where the field was (body., query., path., header.): the name
// is enough, and it is the one that operations use too.
func location(at string) string {
	at = shortened(at, maxField)
	for _, place := range []string{"body.", "query.", "path.", "header."} {
		if name, ok := strings.CutPrefix(at, place); ok {
			return name
		}
	}
	return at
}

// validationMessage keeps the framework's message where it speaks about the
// rule, and cuts what could repeat the value.
func validationMessage(message string) string {
	rule, _, _ := strings.Cut(message, ": ")
	for _, known := range []string{"expected ", "unexpected property", "unknown query parameter", "required ", "invalid integer",
		"invalid float", "invalid boolean", "invalid date", "invalid duration", "has more than ", "is nested deeper", "has a name of more",
		"is not valid JSON"} {
		if strings.HasPrefix(rule, known) {
			return plainNumber(rule)
		}
	}
	return notValid
}

// notValid replaces messages of the framework that must not reach the client.
const notValid = "is not valid"

// plainNumber writes the limit at the end of a rule as people do: the framework
// says 8.64e+07.
func plainNumber(rule string) string {
	at := strings.LastIndexByte(rule, ' ') + 1
	limit, err := strconv.ParseFloat(rule[at:], 64)
	if err != nil {
		return rule
	}
	return rule[:at] + strconv.FormatFloat(limit, 'f', -1, 64)
}
