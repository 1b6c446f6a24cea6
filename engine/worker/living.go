package worker

import (
	"slices"
	"sync"
)

// living are the processes that have not ended.
type living struct {
	mu        sync.Mutex
	processes []*process
}

func (l *living) add(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.processes = append(l.processes, p)
}

func (l *living) remove(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.processes = slices.DeleteFunc(l.processes, func(other *process) bool { return other == p })
}

func (l *living) all() []*process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.processes)
}

// Beside is what the processes hold in bytes beside the leases of statements, and
// what is set aside for a process of each of owners that has none.
func (e *Engine) Beside(owners []string) int64 {
	var sum int64
	var seated []string
	for _, p := range e.living.all() {
		sum += p.beside()
		if p.usable() {
			seated = append(seated, p.owner)
		}
	}
	for _, owner := range owners {
		if !slices.Contains(seated, owner) {
			sum += e.opts.BaseMemory
		}
	}
	return sum
}

// Reclaim ends the processes that have no sessions. It does not wait for them.
func (e *Engine) Reclaim() {
	for _, p := range e.living.all() {
		if p.hasServed() { // one that starts is about to have a session
			go p.retireIdle()
		}
	}
}
