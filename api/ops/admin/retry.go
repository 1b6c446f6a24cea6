package admin

import (
	"errors"

	"github.com/lakewarden/lakewarden/catalog"
)

// retryConflict repeats a read-change-write for callers that did not name a
// version: whoever loses the race reads again.
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
