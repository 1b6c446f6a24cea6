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

// Usage is what a process and its descendants hold.
type Usage struct {
	RSS     int64 // bytes
	Threads int
	// CPU is what they have taken of the processors so far, in user and system
	// time, with what the processes took that they have started and that ended.
	CPU time.Duration
}

// usage adds up a process tree from /proc. A process that ends meanwhile
// counts as nothing.
func usage(root int) (Usage, error) {
	if _, ok := statusOf(root); !ok {
		return Usage{}, fmt.Errorf("process %d is gone", root)
	}
	family, err := descendants(root)
	return usageOf(family), err
}

// descendants are a process and those that it has started, and so on.
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

// childrenOf are the processes that the threads of one have started. To look through
// the table of all processes instead takes from the processor that the watched ones
// work on.
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
			continue // the thread has ended; another is the parent now
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

// restStep is how long a server must have done nothing to be at rest.
const restStep = 250 * time.Millisecond

// rested waits until the server and its children take nothing of the processors any
// more, but for what a look at a clock takes, at most ten seconds.
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

// clockTick is the unit of times in /proc, on every Linux that we run on.
const clockTick = 10 * time.Millisecond

// cpuOf reads the processor time of a process and its ended children.
func cpuOf(pid int) time.Duration { return cpuFields(pid, 4) }

// ownCPUOf reads the processor time of a process alone.
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

// memoryOf reads the resident size of a process alone, in bytes, now and at its
// highest since resetPeak.
func memoryOf(pid int) (now, peak int64) {
	status, _ := statusOf(pid)
	return status["VmRSS"] << 10, status["VmHWM"] << 10
}

// resetPeak has the kernel forget the highest resident size of a process.
func resetPeak(pid int) error {
	const peak = "5" // see proc(5), clear_refs
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte(peak), 0)
}

// statusOf reads the numeric lines of a process's status file.
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

// familyStep is how often watch looks for new processes: more seldom than at memory,
// since whoever looks takes from the processor that the watched ones work on.
const familyStep = 200 * time.Millisecond

// watch samples a process tree until the returned function is called, which
// answers the highest memory seen.
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
