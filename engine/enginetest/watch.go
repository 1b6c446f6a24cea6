package enginetest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// timerSlack is the usual delay of a timer on an idle machine.
const timerSlack = 2 * time.Millisecond

// WatchStalls measures how much the machine delays everything, so that a test of a time
// can subtract it: how long a sleeping goroutine is delayed beyond its sleep, or how long
// some process of the machine waits for a processor or a disk, whichever is longer. It
// begins after the given time. The returned function ends it and returns the sum of the
// delays.
func WatchStalls(after time.Duration) func() time.Duration {
	const step = 10 * time.Millisecond
	stop, slept := make(chan struct{}), make(chan time.Duration)
	before := pressure()
	go func() {
		var stalls time.Duration
		for wait := after; ; wait = step {
			asked := time.Now()
			select {
			case <-stop:
				slept <- max(stalls, pressure()-before)
				return
			case <-time.After(wait):
			}
			if late := time.Since(asked) - wait; late > timerSlack {
				stalls += late
			}
			if wait != step { // it begins
				before = pressure()
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-slept
	}
}

// pressure returns for how long, since the machine was started, some process has waited
// for a processor or a disk. It is 0 if the kernel does not measure it.
func pressure() (sum time.Duration) {
	for _, resource := range []string{"cpu", "io"} {
		text, err := os.ReadFile("/proc/pressure/" + resource)
		if err != nil {
			continue
		}
		var some string
		var average [3]float64
		var micros int64
		if _, err := fmt.Sscanf(string(text), "%s avg10=%f avg60=%f avg300=%f total=%d",
			&some, &average[0], &average[1], &average[2], &micros); err == nil {
			sum += time.Duration(micros) * time.Microsecond
		}
	}
	return sum
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
