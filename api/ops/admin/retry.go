package admin

import (
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
)

// retryConflict repeats a read-modify-write that lost a race, for callers that did not
// name a version.
func retryConflict[T any](change func() (T, error)) (T, error) {
	const attempts = 10
	for attempt := 1; ; attempt++ {
		v, err := change()
		if attempt < attempts && errors.Is(err, catalog.ErrVersionConflict) {
			continue
		}
		return v, err
	}
}
