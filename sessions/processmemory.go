package sessions

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// ProcessMemory samples the memory of this process. Its zero value is ready for
// use. It is safe for concurrent use.
type ProcessMemory struct {
	// read replaces the measurement in tests.
	read func() int64

	mu   sync.Mutex
	last int64
	due  time.Time
}

// sampleEvery is how long a sample is valid. The pool needs the value several times for
// each statement, and the figures of worker processes are no newer.
const sampleEvery = 20 * time.Millisecond

// Bytes returns the memory of the process in bytes without shared pages, measured
// at most once in 20 ms, or 0 if the system does not report it.
func (p *ProcessMemory) Bytes(now time.Time) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !now.Before(p.due) {
		read := p.read
		if read == nil {
			read = processMemory
		}
		p.last, p.due = read(), now.Add(sampleEvery)
	}
	return p.last
}

func processMemory() int64 {
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
