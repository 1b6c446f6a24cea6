package v1

import (
	"net/url"
	"regexp"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lakewarden/lakewarden/api/problem"
)

// strictQuery refuses ambiguous query strings, and values that the framework accepts
// although the API description does not: a repeated parameter, of which the framework
// uses the first; an empty value, which it treats as absent; and 1 for true.
func (rt Route) strictQuery(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		u := ctx.URL()
		if err := checkQuery(ctx.Operation().Parameters, u.RawQuery); err != nil {
			_ = huma.WriteErr(api, ctx, 0, "", rt.Fail(ctx.Context(), err)) // the client may have disconnected
			return
		}
		next(ctx)
	}
}

func checkQuery(parameters []*huma.Param, raw string) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return &problem.Refusal{
			Code: "invalid_request", Cause: err,
			Details: []problem.Detail{{Field: "query", Message: "must have %3B for each semicolon and %25 for each percent sign in a value"}},
		}
	}
	var details []problem.Detail
	for _, p := range parameters {
		if p.In != "query" {
			continue
		}
		for i, value := range values[p.Name] {
			message := typeMismatch(p.Schema, value)
			if i > 0 && p.Schema.Type != huma.TypeArray {
				message = "is given more than once"
			}
			if message != "" {
				details = append(details, problem.Detail{Field: p.Name, Message: message})
				break
			}
		}
	}
	if len(details) > 0 {
		return &problem.Refusal{Code: "invalid_field", Details: details}
	}
	return nil
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// typeMismatch returns why a value does not have the parameter's type, or "" if it does.
func typeMismatch(s *huma.Schema, value string) string {
	plain := s.Type == huma.TypeString && s.Format == "" && len(s.Enum) == 0
	switch {
	case value == "" && !plain:
		return "must not be empty"
	case s.Format == "uuid" && len(value) != 36: // the framework accepts braces and a prefix
		return "expected string to be RFC 4122 uuid"
	case s.Type == huma.TypeInteger && !wholeNumber.MatchString(value):
		return "invalid integer"
	case s.Type == huma.TypeBoolean && value != "true" && value != "false":
		return "must be true or false"
	}
	return ""
}
