package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/worker"
)

// serverShare is the part of the memory budget that the server's own process takes
// at most: 1/4. What it needs beyond that is for the operator to leave free.
const serverShare = 4

// besideLeases says what is held beside the leases of statements: by worker
// processes, and by the server. In one process both cannot be told from the
// statements' own.
func besideLeases(eng engine.Engine, budget int64) (beside func(orgs []string) int64, reclaim func()) {
	workers, ok := eng.(*worker.Engine)
	if !ok {
		return nil, nil
	}
	own := &sampled{read: ownMemory}
	return func(orgs []string) int64 {
		return workers.Beside(orgs) + min(own.value(time.Now()), budget/serverShare)
	}, workers.Reclaim
}

// sampled is a figure that is asked for several times a statement and read once in
// sampleEvery: what the workers hold is not known any better.
type sampled struct {
	read func() int64

	mu   sync.Mutex
	last int64
	due  time.Time
}

const sampleEvery = 20 * time.Millisecond

func (s *sampled) value(now time.Time) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !now.Before(s.due) {
		s.last, s.due = s.read(), now.Add(sampleEvery)
	}
	return s.last
}

// ownMemory is what this process holds in bytes without what it shares, or 0 where
// that cannot be told.
func ownMemory() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident, shared int64
	if _, err := fmt.Sscan(string(text), &size, &resident, &shared); err != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}

// defaultMemoryMiB is half of what the machine or the container has, or 4 GiB
// where that cannot be told.
func defaultMemoryMiB() int64 {
	const fallback = 4096
	total := machineMemory()
	if limit := cgroupLimit(); limit > 0 && (total == 0 || limit < total) {
		total = limit
	}
	if total == 0 {
		return fallback
	}
	return max(total/2>>20, 128)
}

func machineMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

func cgroupLimit() int64 {
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := os.ReadFile(path); err == nil {
			n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			return n
		}
	}
	return 0
}
