package query

import "io"

// room is the space of one result: at most limit bytes, and no more than its organisation has
// available on all replicas. Space is reserved before it is used, in steps that grow with the
// result: a large result needs few of them, and a small one reserves little. It is not safe
// for concurrent use.
type room struct {
	limit int64
	// reserve sets the size of the reservation, and reports whether there was enough
	// space.
	reserve func(bytes int64) (bool, error)
	held    int64
}

const leastStep, largestStep = int64(256 << 10), int64(16 << 20)

// grow reserves space for need bytes. The error is [ErrResultTooLarge] if there is not enough.
func (r *room) grow(need int64) error {
	if need <= r.held {
		return nil
	}
	if need > r.limit {
		return ErrResultTooLarge
	}
	ahead := min(r.limit, need+min(max(r.held, leastStep), largestStep))
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

// roomyWriter writes while there is room. It holds the error that ended it, which encoders may
// drop.
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
