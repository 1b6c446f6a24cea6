package worker

import (
	"slices"
	"sync"
)

// registry holds the processes that have not ended.
type registry struct {
	mu        sync.Mutex
	processes []*process
}

func (l *registry) add(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.processes = append(l.processes, p)
}

func (l *registry) remove(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.processes = slices.DeleteFunc(l.processes, func(other *process) bool { return other == p })
}

func (l *registry) all() []*process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.processes)
}

// Overhead returns the number of bytes that the processes hold in addition to the leases of
// statements, plus the base memory for each of owners without a process.
func (e *Engine) Overhead(owners []string) int64 {
	var sum int64
	var started []string
	for _, p := range e.processes.all() {
		sum += p.unleased()
		if p.usable() && !p.purpose.uploads {
			started = append(started, p.purpose.owner)
		}
	}
	for _, owner := range owners {
		if !slices.Contains(started, owner) {
			sum += e.opts.BaseMemory
		}
	}
	return sum
}

// Reclaim ends the processes that have no sessions. It does not wait for them.
func (e *Engine) Reclaim() {
	for _, p := range e.processes.all() {
		if p.hasServed() { // a starting process is about to get a session
			go p.retireIdle()
		}
	}
}
