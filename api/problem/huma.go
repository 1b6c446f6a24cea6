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

// Validation returns the reply for requests that the framework finds invalid. It is meant
// to be set as huma.NewErrorWithContext. It never repeats what the client sent.
func Validation(ctx huma.Context, status int, _ string, errs ...error) huma.StatusError {
	reply := validate(ctx, status, errs)
	for name, values := range reply.headers {
		for _, value := range values {
			ctx.SetHeader(name, value)
		}
	}
	return reply
}

// validate examines each error once and returns the first [maxDetails] that name a field,
// without the values: one body can have a hundred thousand errors.
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

// invalid holds the framework's validation errors in a form that is safe to log.
type invalid struct {
	total   int
	details []Detail
}

// Error returns the first detail and the number of problems.
func (e *invalid) Error() string {
	if len(e.details) == 0 {
		return "the request is not valid"
	}
	return fmt.Sprintf("%d problems, the first: %s %s", e.total, e.details[0].Field, e.details[0].Message)
}

// add records a detail. If the body cannot be parsed, only errors about the bounds of
// JSON are recorded, because only their texts are meant for clients.
func (e *invalid) add(d *huma.ErrorDetail, status int) {
	if len(e.details) == maxDetails {
		return
	}
	detail := validationDetail(d)
	if status == http.StatusUnprocessableEntity || status == http.StatusBadRequest && detail.Message != notValid {
		e.details = append(e.details, detail)
	}
}

// validationCode returns the error code for a status of the framework.
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

// validationDetail names the invalid field. For a missing property it names the property;
// the framework names the object that lacks it.
func validationDetail(d *huma.ErrorDetail) Detail {
	if name, ok := strings.CutPrefix(d.Message, "expected required property "); ok {
		if name, ok = strings.CutSuffix(name, " to be present"); ok {
			return Detail{Field: location(shortened(d.Location, maxField) + "." + name), Message: "is required"}
		}
	}
	return Detail{Field: location(d.Location), Message: validationMessage(d.Message)}
}

// location removes the part of the request (body., query., path., header.) from a name,
// because operations name fields without it too.
func location(at string) string {
	at = shortened(at, maxField)
	for _, place := range []string{"body.", "query.", "path.", "header."} {
		if name, ok := strings.CutPrefix(at, place); ok {
			return name
		}
	}
	return at
}

// validationMessage returns the framework's message if it describes the rule, without
// parts that could repeat the value.
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

// plainNumber writes the limit at the end of a rule without an exponent. The framework
// prints 8.64e+07.
func plainNumber(rule string) string {
	at := strings.LastIndexByte(rule, ' ') + 1
	limit, err := strconv.ParseFloat(rule[at:], 64)
	if err != nil {
		return rule
	}
	return rule[:at] + strconv.FormatFloat(limit, 'f', -1, 64)
}
