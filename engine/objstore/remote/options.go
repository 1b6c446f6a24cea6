package remote

import (
	"net/url"
	"strings"
)

// OptionError is an option that a provider's New refuses, with a message for the user who chose it.
// The message never contains the value.
type OptionError struct {
	// Option is the name of the option in lower case, with words joined by underscores.
	Option string
	Reason string
}

// Error implements error.
func (e *OptionError) Error() string { return "option " + e.Option + " " + e.Reason }

// Refuse returns an [OptionError].
func Refuse(option, reason string) error { return &OptionError{option, reason} }

// ValidURL reports whether a text is an HTTP URL with a host and without user and fragment.
func ValidURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

// ValidEndpoint reports whether a text is a URL of a scheme and a host, and of a path that is empty
// or the given one.
func ValidEndpoint(text, path string) bool {
	u, err := url.Parse(text)
	if err != nil || !ValidURL(text) || u.RawQuery != "" || u.ForceQuery {
		return false
	}
	given := strings.Trim(u.Path, "/")
	return given == "" || given == path
}
