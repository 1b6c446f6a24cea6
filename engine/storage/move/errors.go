package move

import (
	"errors"
	"fmt"
)

// Errors of this package; test with errors.Is. Failures of a store are the errors of objstore.
var (
	// ErrOccupied: the target has an object that is not a copy of the source's. Returned by
	// [Job.Vacant] and [Job.Copy]. Nothing was replaced. Not retried.
	ErrOccupied = errors.New("target of move is not empty")
	// ErrSourceChanged: another engine has written to the source, and the target does not have what
	// it wrote. The error is a [*ChangedError]. [Job.Copy] may be run again, with resume, before
	// anything was deleted.
	ErrSourceChanged = errors.New("source of move has changed")
	// ErrDamaged: an object has another content at the target than at the source although the store
	// accepted it. Returned by [Job.Copy]. Retry with resume, which copies the object again.
	ErrDamaged = errors.New("copy differs from its source")
)

func occupied(name string) error { return fmt.Errorf("%w: it has %.200q", ErrOccupied, name) }

// ChangedError is the [ErrSourceChanged] with the objects that the target does not have.
type ChangedError struct {
	// Names are the first of these objects, relative to the source; at most 20. See [Table].
	Names []string
	// Count is the number of these objects that were found.
	Count int64
}

// maxNames bounds the names of a ChangedError.
const maxNames = 20

func (e *ChangedError) add(name string) {
	if e.Count++; len(e.Names) < maxNames {
		e.Names = append(e.Names, name)
	}
}

func (e *ChangedError) join(other ChangedError) {
	e.Count += other.Count
	e.Names = append(e.Names, other.Names[:min(len(other.Names), maxNames-len(e.Names))]...)
}

// orNil returns e if an object was added, else nil.
func (e *ChangedError) orNil() error {
	if e.Count == 0 {
		return nil
	}
	return e
}

// Error implements error.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%v: %d objects, the first is %.200q", ErrSourceChanged, e.Count, e.Names[0])
}

// Is reports whether target is [ErrSourceChanged].
func (e *ChangedError) Is(target error) bool { return target == ErrSourceChanged }
