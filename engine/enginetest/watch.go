package enginetest

import (
	"io/fs"
	"path/filepath"
	"time"
)

// timerSlack is the usual delay of a timer on an idle machine.
const timerSlack = 2 * time.Millisecond

// WatchStalls measures how long a sleeping goroutine is delayed beyond its sleep,
// which shows how much the machine delays everything. It begins after the given
// time. The returned function ends it and returns the sum of the delays.
func WatchStalls(after time.Duration) func() time.Duration {
	const step = 10 * time.Millisecond
	stop, slept := make(chan struct{}), make(chan time.Duration)
	go func() {
		var stalls time.Duration
		for wait := after; ; wait = step {
			asked := time.Now()
			select {
			case <-stop:
				slept <- stalls
				return
			case <-time.After(wait):
			}
			if late := time.Since(asked) - wait; late > timerSlack {
				stalls += late
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-slept
	}
}

// BytesBelow returns the total size of the files below a directory. Files that are
// removed meanwhile count as 0.
func BytesBelow(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // removed, or a directory
		}
		if info, err := entry.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
