package query

import "io"

// room is what one result may take: no more than most, and no more than is left
// to its organisation on all replicas. It is reserved before it is used, in steps
// that grow with the result, so that few are needed for a large one and a small
// one keeps little from others. It is not safe for concurrent use.
type room struct {
	most int64
	// reserve makes bytes the size of the reservation and reports whether they
	// were to be had.
	reserve func(bytes int64) (bool, error)
	held    int64
}

const leastStep, largestStep = int64(256 << 10), int64(16 << 20)

// grow makes sure that there is room for so many bytes. [ErrResultTooLarge].
func (r *room) grow(need int64) error {
	if need <= r.held {
		return nil
	}
	if need > r.most {
		return ErrResultTooLarge
	}
	ahead := min(r.most, need+min(max(r.held, leastStep), largestStep))
	for _, bytes := range []int64{ahead, need} {
		fits, err := r.reserve(bytes)
		if err != nil {
			return err
		}
		if fits {
			r.held = bytes
			return nil
		}
	}
	return ErrResultTooLarge
}

// roomyWriter writes while there is room. It remembers the error that ended it,
// which encoders above it may not.
type roomyWriter struct {
	dst     io.Writer
	room    *room
	written int64
	err     error
}

// Write implements io.Writer.
func (w *roomyWriter) Write(p []byte) (int, error) {
	if w.err = w.room.grow(w.written + int64(len(p))); w.err != nil {
		return 0, w.err
	}
	n, err := w.dst.Write(p)
	w.written += int64(n)
	return n, err
}
