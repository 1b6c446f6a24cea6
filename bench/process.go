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
	children, err := childrenByParent()
	if err != nil {
		return Usage{}, err
	}
	if _, ok := statusOf(root); !ok {
		return Usage{}, fmt.Errorf("process %d is gone", root)
	}
	return usageOf(descendants(root, children)), nil
}

// descendants are a process and those that it has started, and so on.
func descendants(root int, children map[int][]int) []int {
	tree := []int{root}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i]]...)
	}
	return tree
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

// clockTick is the unit of times in /proc, on every Linux that we run on.
const clockTick = 10 * time.Millisecond

// cpuOf reads the processor time of a process and its ended children.
func cpuOf(pid int) (sum time.Duration) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may contain anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const utime, cstime = 11, 14 // user, system, and the same of children
	for _, field := range fields[min(utime, len(fields)):min(cstime+1, len(fields))] {
		n, _ := strconv.ParseInt(field, 10, 64) // numbers, or not Linux
		sum += time.Duration(n) * clockTick
	}
	return sum
}

func childrenByParent() (map[int][]int, error) {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(entries) == 0 {
		return nil, fmt.Errorf("no process table below /proc: %w", os.ErrNotExist)
	}
	children := map[int][]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		if status, ok := statusOf(pid); ok {
			parent := int(status["PPid"])
			children[parent] = append(children[parent], pid)
		}
	}
	return children, nil
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

// familyStep is how often watch looks for new processes. The whole process table
// is read for it, at the cost of the processor that the watched ones work on.
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
				if children, err := childrenByParent(); err == nil {
					family, looked = descendants(pid, children), time.Now()
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
