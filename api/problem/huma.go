package problem

import (
	"errors"
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

func validate(ctx huma.Context, status int, errs []error) *Reply {
	for _, err := range errs {
		var done *Reply
		if errors.As(err, &done) {
			return done
		}
	}
	if status >= http.StatusInternalServerError {
		return respond(ctx.Context(), errors.Join(errs...), false)
	}
	refusal := &Refusal{Code: validationCode(status), Cause: errors.Join(errs...)}
	switch status {
	case http.StatusUnprocessableEntity:
		refusal.Details = validationDetails(errs)
	case http.StatusUnsupportedMediaType:
		refusal.Details = []Detail{{Field: "Content-Type", Message: "must be " + mediaTypes(ctx)}}
	}
	var tooLarge *http.MaxBytesError
	if errors.As(refusal.Cause, &tooLarge) {
		refusal.Code = "payload_too_large"
	}
	return respond(ctx.Context(), refusal, false)
}

// mediaTypes lists the types of the bodies that an operation takes.
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

func validationDetails(errs []error) []Detail {
	details := []Detail{}
	for _, err := range errs {
		var detailer huma.ErrorDetailer
		if !errors.As(err, &detailer) {
			continue
		}
		details = append(details, validationDetail(detailer.ErrorDetail()))
		if len(details) == maxDetails {
			break
		}
	}
	return details
}

// validationDetail names the field at fault: of a missing property the property
// itself, where the framework names what lacks it.
func validationDetail(d *huma.ErrorDetail) Detail {
	if name, ok := strings.CutPrefix(d.Message, "expected required property "); ok {
		if name, ok = strings.CutSuffix(name, " to be present"); ok {
			return Detail{Field: location(d.Location + "." + name), Message: "is required"}
		}
	}
	return Detail{Field: location(d.Location), Message: validationMessage(d.Message)}
}

// location drops where the field was (body., query., path., header.): the name
// is enough, and it is the one that operations use too.
func location(at string) string {
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
	for _, known := range []string{"expected ", "unexpected property", "unknown query parameter", "required ", "invalid integer", "invalid float", "invalid boolean", "invalid date", "invalid duration"} {
		if strings.HasPrefix(rule, known) {
			return plainNumber(rule)
		}
	}
	return "is not valid"
}

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
