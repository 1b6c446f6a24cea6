package v1

import (
	"github.com/lakewarden/lakewarden/catalog"
)

// FieldError is one broken rule of a request.
func FieldError(field, message string) error {
	return catalog.FieldErrors{{Field: field, Message: message}}
}
