package enginetest

import (
	"io/fs"
	"path/filepath"
	"time"
)

// timerSlack is how late a timer is on a machine that does nothing else.
const timerSlack = 2 * time.Millisecond

// WatchStalls measures how much longer than it asked for a goroutine sleeps that
// does nothing else: what the machine takes from everybody here. It begins after
// the given time, and the function returned ends it.
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

// BytesBelow is how long the files below a directory are together. Files that go
// away meanwhile count for nothing.
func BytesBelow(dir string) int64 {
	var sum int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // it is gone, or counts by what lies in it
		}
		if info, err := entry.Info(); err == nil {
			sum += info.Size()
		}
		return nil
	})
	return sum
}
