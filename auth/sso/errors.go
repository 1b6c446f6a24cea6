package sso

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Sentinels of this package.
var (
	// ErrIssuer is returned for an issuer that cannot be used: its URL, its discovery
	// document or its keys are not acceptable. The error is an [*IssuerError]. A retry
	// does not help: 422 issuer_refused.
	ErrIssuer = errors.New("identity provider not acceptable")
	// ErrUnavailable is returned if a provider does not answer. A retry may help: 503.
	ErrUnavailable = errors.New("identity provider unavailable")
	// ErrRefused is returned if a sign-in failed: the provider refused it, or its tokens
	// are not valid. The error is a [*RefusedError]. Start again: 403 sign_in_refused.
	ErrRefused = errors.New("sign-in refused")
	// ErrLogoutToken is returned for a logout token that is not valid. It becomes 400,
	// in the form of the specification.
	ErrLogoutToken = errors.New("logout token not valid")
	// ErrDomain is returned for a text that is not a domain that an organisation can own.
	// It becomes 422.
	ErrDomain = errors.New("not a domain of an organisation")
	// ErrRecord is returned if a domain does not have the expected TXT record. The error is a
	// [*RecordError]. Publish the record, then retry: 409 domain_not_verified.
	ErrRecord = errors.New("verification record not found")
	// ErrResolver is returned if the records of a domain could not be read. A retry may
	// help: 503.
	ErrResolver = errors.New("records of the domain could not be read")
)

// IssuerError states why an issuer is not acceptable.
type IssuerError struct {
	// Reason is a text for the administrator. It contains nothing that the provider sent.
	Reason string
	cause  error
}

// Error implements error.
func (e *IssuerError) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%v: %s: %v", ErrIssuer, e.Reason, e.cause)
	}
	return ErrIssuer.Error() + ": " + e.Reason
}

// Is matches [ErrIssuer].
func (e *IssuerError) Is(target error) bool { return target == ErrIssuer }

// Unwrap returns the cause, or nil.
func (e *IssuerError) Unwrap() error { return e.cause }

// FieldProblems yields the reason, for the reply to a client.
func (e *IssuerError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield("issuer", e.Reason) }
}

func issuerRefused(reason string, cause error) error {
	return &IssuerError{Reason: reason, cause: cause}
}

// RecordError states which TXT records a name has, if none of them is the expected one.
type RecordError struct {
	// Name is the name of the expected record.
	Name string
	// Found are the records of the name, as the resolver returned them.
	Found []string
}

const (
	// maxShownRecords bounds the records that an error shows, and maxShownRecord the bytes of each.
	maxShownRecords = 5
	maxShownRecord  = 100
)

// Error implements error.
func (e *RecordError) Error() string { return fmt.Sprintf("%v: %s %s", ErrRecord, e.Name, e.found()) }

// found states what the name has. Whoever controls the name chose the records, so they are quoted,
// in ASCII, and cut.
func (e *RecordError) found() string {
	if len(e.Found) == 0 {
		return "has no TXT record"
	}
	var text strings.Builder
	text.WriteString("has other TXT records:")
	for i, record := range e.Found {
		if i == maxShownRecords {
			fmt.Fprintf(&text, " and %d more", len(e.Found)-i)
			break
		}
		cut := ""
		if len(record) > maxShownRecord {
			record, cut = record[:maxShownRecord], "…"
		}
		text.WriteString(" " + strconv.QuoteToASCII(record) + cut)
	}
	return text.String()
}

// Is matches [ErrRecord].
func (e *RecordError) Is(target error) bool { return target == ErrRecord }

// FieldProblems yields the name with its records, for the reply to a client.
func (e *RecordError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield(e.Name, e.found()) }
}

// RefusedError states why a sign-in was refused.
type RefusedError struct {
	// Reason is a stable snake_case word: "provider_error", "code_refused",
	// "issuer_mismatch", "token_invalid", "token_expired", "nonce_mismatch",
	// "userinfo_invalid", "email_missing", "email_not_verified", "email_not_usable",
	// "email_domain_foreign", "identity_not_confirmed",
	// "membership_refused".
	Reason string
	cause  error
}

// Error implements error.
func (e *RefusedError) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%v: %s: %v", ErrRefused, e.Reason, e.cause)
	}
	return ErrRefused.Error() + ": " + e.Reason
}

// Is matches [ErrRefused].
func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the cause, or nil.
func (e *RefusedError) Unwrap() error { return e.cause }

// FieldProblems yields the reason, for the reply to a client.
func (e *RefusedError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) { yield("reason", e.Reason) }
}

func refused(reason string, cause error) error { return &RefusedError{Reason: reason, cause: cause} }

// Refused returns an [ErrRefused] for a reason that only the caller knows.
func Refused(reason string) error { return refused(reason, nil) }
