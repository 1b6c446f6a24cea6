package v1

import (
	"strconv"

	"github.com/lakewarden/lakewarden/catalog"
)

// fieldError is one broken rule of a request.
func fieldError(field, message string) error {
	return catalog.FieldErrors{{Field: field, Message: message}}
}

func itoa(i int) string { return strconv.Itoa(i) }

func parseVersion(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, fieldError("page_token", "must be a token of an earlier reply")
	}
	return n, nil
}
