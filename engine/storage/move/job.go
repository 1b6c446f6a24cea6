package move

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Job is one move of all objects of a bucket to another bucket, which must not overlap. Both are
// already rooted at the paths of the move (see [objstore.Prefix]). Only one step of a job may run at
// a time.
type Job struct {
	Source, Target objstore.Bucket
	// Parallel is the number of objects that are copied or deleted at once; default 16.
	Parallel int
	// Progress, if set, is called after each object of Copy, Delete and Discard, by one goroutine at
	// a time. It must return quickly.
	Progress func(Count)
}

// Count is a number of objects and their size in bytes.
type Count struct {
	Objects, Bytes int64
}

func (c *Count) add(object objstore.Object) {
	c.Objects++
	c.Bytes += object.Size
}

// Measure returns the number and the size of all objects of the source.
func (j Job) Measure(ctx context.Context) (Count, error) {
	var all Count
	for object, err := range j.Source.List(ctx, "", objstore.ListOptions{}) {
		if err != nil {
			return Count{}, fmt.Errorf("measure source: %w", err)
		}
		all.add(object)
	}
	return all, nil
}

// Vacant returns ErrOccupied if the target has an object.
func (j Job) Vacant(ctx context.Context) error {
	for object, err := range j.Target.List(ctx, "", objstore.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("list target: %w", err)
		}
		return occupied(object.Name)
	}
	return nil
}

// Changed returns ErrSourceChanged if an object of a log of the source is not at the target.
func (j Job) Changed(ctx context.Context) error {
	_, missing, err := logs(ctx, j.Source, j.Target)
	if err != nil {
		return err
	}
	return missing.orNil()
}

// logs returns the folders of the logs of a bucket, in byte order, and the objects in them that another
// bucket does not have, hints excepted.
func logs(ctx context.Context, from, other objstore.Bucket) (folders []string, missing ChangedError, err error) {
	for p, err := range pairs(ctx, from, other, "", "") {
		if err != nil {
			return nil, missing, fmt.Errorf("compare logs: %w", err)
		}
		folder := logFolder(p.name)
		if !p.inFirst || folder == "" {
			continue
		}
		if len(folders) == 0 || folders[len(folders)-1] != folder {
			folders = append(folders, folder)
		}
		if roleOf(p.name) != hint && !p.alike() {
			missing.add(p.name)
		}
	}
	return folders, missing, nil
}

// run is a step under way.
type run struct {
	Job
	// slots bounds the objects that are copied or deleted at once, and large those of them that
	// occupy much memory.
	slots, large chan struct{}
	// confirms reports that the target's store has the checksums of what it receives in one request.
	confirms atomic.Bool

	mu   sync.Mutex
	done Count
}

const (
	// largeSize is the size in bytes from which an object is large.
	largeSize = 1 << 20
	// maxLarge is the number of large objects that are copied at once. A store holds a part of each
	// in memory.
	maxLarge = 4
)

func (j Job) run() *run {
	j.Parallel = cmp.Or(max(j.Parallel, 0), 16)
	return &run{Job: j, slots: make(chan struct{}, j.Parallel), large: make(chan struct{}, maxLarge)}
}

// begin waits for a slot for an object of this size. The caller calls end after the work.
func (r *run) begin(ctx context.Context, size int64) (end func(), _ error) {
	slots := []chan struct{}{r.slots}
	if size >= largeSize {
		// The slot of large objects comes first: small ones are not held up by those that wait.
		slots = []chan struct{}{r.large, r.slots}
	}
	for i, slot := range slots {
		select {
		case slot <- struct{}{}:
		case <-ctx.Done():
			for _, taken := range slots[:i] {
				<-taken
			}
			return nil, ctx.Err()
		}
	}
	return func() {
		for _, slot := range slots {
			<-slot
		}
	}, nil
}

// finished counts an object and reports the progress.
func (r *run) finished(object objstore.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done.add(object)
	if r.Progress != nil {
		r.Progress(r.done)
	}
}
