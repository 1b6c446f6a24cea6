package v1

import (
	"github.com/lakewarden/lakewarden/catalog"
)

// FieldError returns an error about one invalid field of a request.
func FieldError(field, message string) error {
	return catalog.FieldErrors{{Field: field, Message: message}}
}
