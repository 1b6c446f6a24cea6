package worker

import (
	"slices"
	"syscall"
)

// A statement that ignores its interrupt cannot be stopped without its process,
// which may run statements of others. Such a process drains: it takes no further
// statements, those that run go on, and it is killed when the last of them has
// ended. Each of them has a deadline, so the process has one too. What the
// unresponsive statement holds, and a reserve, stays accounted until then: more than
// that ends the process, and the rest of its lease is lent to others.

// retainedReserve is what an unresponsive statement may still take, as far as its
// lease allows it. Those beside it may hold less than their leases now, and take
// the difference later.
const retainedReserve = 128 * mib

// abandon gives up a request that does not stop. Its account is of no further use.
func (p *process) abandon(a *account) {
	resident := p.meter.resident()
	p.mu.Lock()
	g := &p.ledger
	g.resident = resident
	g.leased -= a.leased
	holds := max(0, resident-g.base-g.resting-g.leased-g.retained)
	g.retained += min(a.leased, holds+retainedReserve)
	g.abandoned++
	a.leased = 0
	if a.running {
		a.running = false
		g.running--
	}
	first := !p.draining && !p.leaving
	p.draining = true
	p.killDrained()
	left := g.running
	p.mu.Unlock()
	if first && left > 0 {
		p.opts.Logger.Warn("worker drains", "organisation", p.owner, "pid", p.cmd.Process.Pid, "statements", left)
		p.limitDraining(p.owner)
	}
}

// killDrained kills a draining child in which nothing runs that somebody waits for. The
// caller holds mu.
func (p *process) killDrained() {
	if p.draining && p.ledger.running == 0 {
		p.end(reasonUnresponsive)
		_ = p.cmd.Process.Signal(syscall.SIGKILL) // it has ended already: nothing to do
	}
}

// limitDraining kills the oldest draining processes of an owner that has more than
// it may have: each holds memory that others wait for.
func (e *Engine) limitDraining(owner string) {
	var draining []*process
	for _, p := range e.living.all() {
		if p.owner == owner && p.drains() {
			draining = append(draining, p)
		}
	}
	slices.SortFunc(draining, func(a, b *process) int { return a.started.Compare(b.started) })
	for len(draining) > e.opts.MaxDraining {
		draining[0].kill(reasonUnresponsive)
		draining = draining[1:]
	}
}
