package kind

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/objstore/remote"
)

// FieldErrors are invalid fields of a request, by the names that the request uses. It
// becomes 422.
type FieldErrors []FieldError

// FieldError is one invalid field. Message never contains the value of a credential.
type FieldError struct{ Field, Message string }

// Refuse returns the error of one field.
func Refuse(field, message string) error { return FieldErrors{{field, message}} }

// Error implements error.
func (e FieldErrors) Error() string {
	parts := make([]string, len(e))
	for i, f := range e {
		parts[i] = f.Field + " " + f.Message
	}
	return "invalid: " + strings.Join(parts, "; ")
}

// ProblemCode returns the code of package problem.
func (FieldErrors) ProblemCode() string { return "invalid_field" }

// FieldProblems yields the fields.
func (e FieldErrors) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, f := range e {
			if !yield(f.Field, f.Message) {
				return
			}
		}
	}
}

// RefuseOption returns an option that a provider refused as the error of the field that
// field returns for it. Other errors are returned unchanged.
func RefuseOption(err error, field func(option string) string) error {
	var refused *remote.OptionError
	if !errors.As(err, &refused) {
		return err
	}
	return Refuse(field(refused.Option), refused.Reason)
}

// errDocument hides the errors of package json, which quote their input.
var errDocument = errors.New("settings or credential of a storage configuration cannot be read")

// Decode reads a JSON object into the struct that into points to. It ignores fields that
// the struct lacks, because a later version may have stored them. An empty document
// leaves the struct unchanged.
func Decode[D ~[]byte](object D, into any) error {
	if len(object) == 0 {
		return nil
	}
	if json.Unmarshal(object, into) != nil {
		return errDocument
	}
	return nil
}

// DecodeStrict decodes a request of the named kind into each of the structs that into
// points to. Fields that all of them lack are FieldErrors.
func DecodeStrict(kind string, object Secret, into ...any) error {
	var given map[string]json.RawMessage
	if err := Decode(object, &given); err != nil {
		return err
	}
	for _, part := range into {
		if err := Decode(object, part); err != nil {
			return err
		}
		for name := range names(reflect.TypeOf(part).Elem()) {
			delete(given, name)
		}
	}
	if len(given) == 0 {
		return nil
	}
	var foreign FieldErrors
	for _, name := range slices.Sorted(maps.Keys(given)) {
		foreign = append(foreign, FieldError{name, "does not belong to kind " + kind})
	}
	return foreign
}

// names yields the JSON names of a struct's fields, those of embedded structs included.
func names(t reflect.Type) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.Anonymous && name != "" && !yield(name) {
				return
			}
		}
	}
}
