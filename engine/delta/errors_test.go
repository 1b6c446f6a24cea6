package delta_test

import (
	"errors"

	"github.com/lakewarden/lakewarden/engine/delta"
)

func isExists(err error) bool { return errors.Is(err, delta.ErrTableExists) }
