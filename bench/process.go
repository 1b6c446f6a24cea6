package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Usage is the resource usage of a process and its descendants.
type Usage struct {
	RSS     int64 // bytes
	Threads int
	// CPU is the user and system time that they have used so far, including that of
	// descendants that have ended.
	CPU time.Duration
}

// usage adds up a process tree from /proc. A process that ends meanwhile counts as
// nothing.
func usage(root int) (Usage, error) {
	if _, ok := statusOf(root); !ok {
		return Usage{}, fmt.Errorf("process %d is gone", root)
	}
	family, err := descendants(root)
	return usageOf(family), err
}

// descendants returns a process and its descendants.
func descendants(root int) ([]int, error) {
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		children, err := childrenOf(tree[i])
		if err != nil {
			return nil, err
		}
		tree = append(tree, children...)
	}
	return tree, nil
}

// childrenOf returns the processes that the threads of a process have started.
// Reading the table of all processes instead would disturb the measured processes.
func childrenOf(pid int) ([]int, error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/children", pid))
	if err != nil {
		return nil, err
	}
	if len(lists) == 0 {
		if _, lives := statusOf(pid); lives {
			return nil, fmt.Errorf("the kernel does not say which processes %d has started: %w", pid, os.ErrNotExist)
		}
		return nil, nil
	}
	var children []int
	for _, list := range lists {
		text, err := os.ReadFile(list) //nolint:gosec // a list of the kernel
		if err != nil {
			continue // the thread has ended; its children have another parent now
		}
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", list, err)
			}
			children = append(children, child)
		}
	}
	return children, nil
}

func usageOf(processes []int) (sum Usage) {
	for _, pid := range processes {
		if status, ok := statusOf(pid); ok {
			sum.RSS += status["VmRSS"] << 10
			sum.Threads += int(status["Threads"])
			sum.CPU += cpuOf(pid)
		}
	}
	return sum
}

// restStep is how long a server must have been idle to be at rest.
const restStep = 250 * time.Millisecond

// rested waits, at most ten seconds, until the server and its children use no
// processor time except for timers.
func (s *server) rested(ctx context.Context) error {
	last, err := usage(s.proc.PID())
	for range int(10 * time.Second / restStep) {
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(restStep):
		}
		now, again := usage(s.proc.PID())
		if again != nil || now.CPU-last.CPU <= clockTick {
			return again
		}
		last = now
	}
	return nil
}

// clockTick is the unit of times in /proc on all supported systems.
const clockTick = 10 * time.Millisecond

// cpuOf returns the processor time of a process and its ended children.
func cpuOf(pid int) time.Duration { return cpuFields(pid, 4) }

// ownCPUOf returns the processor time of a process alone.
func ownCPUOf(pid int) time.Duration { return cpuFields(pid, 2) }

// cpuFields adds up the first n times of a process.
func cpuFields(pid, n int) (sum time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const utime = 11 // user, system, and the same of children
	for _, field := range fields[min(utime, len(fields)):min(utime+n, len(fields))] {
		n, _ := strconv.ParseInt(field, 10, 64) // numbers, or not Linux
		sum += time.Duration(n) * clockTick
	}
	return sum
}

// memoryOf returns the resident size of a process, without children, in bytes: the
// current one and the maximum since resetPeak.
func memoryOf(pid int) (now, peak int64) {
	status, _ := statusOf(pid)
	return status["VmRSS"] << 10, status["VmHWM"] << 10
}

// resetPeak resets the maximum resident size of a process.
func resetPeak(pid int) error {
	const peak = "5" // see proc(5), clear_refs
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte(peak), 0)
}

// statusOf returns the numeric lines of a process's status file.
func statusOf(pid int) (map[string]int64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil, false
	}
	values := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		key, rest, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if value, err := strconv.ParseInt(number, 10, 64); err == nil {
			values[key] = value
		}
	}
	return values, true
}

// familyStep is the interval at which watch searches for new processes. It is
// longer than that for memory, because the search disturbs the measured processes.
const familyStep = 200 * time.Millisecond

// watch samples a process tree until the returned function is called, which returns
// the highest memory seen.
func watch(ctx context.Context, pid int, every time.Duration) func() (peak int64) {
	ctx, cancel := context.WithCancel(ctx)
	var (
		group sync.WaitGroup
		peak  int64
	)
	group.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		var (
			family []int
			looked time.Time
		)
		for {
			if time.Since(looked) >= familyStep {
				if found, err := descendants(pid); err == nil {
					family, looked = found, time.Now()
				}
			}
			peak = max(peak, usageOf(family).RSS)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return func() int64 {
		cancel()
		group.Wait()
		return peak
	}
}
