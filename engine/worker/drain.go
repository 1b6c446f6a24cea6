package worker

import (
	"slices"
	"syscall"
)

// A statement that ignores its interrupt can only be stopped with its process, which
// may run other statements. Such a process drains: it accepts no further statements,
// the running ones continue, and it is killed when the last of them has ended. Each of
// them has a deadline, so draining ends. Until then the memory of the unresponsive
// statement and a reserve stay accounted: a process that exceeds them is killed. The
// rest of the statement's lease is available to others.

// retainedReserve is how much an unresponsive statement may still grow within its
// lease. The other statements may currently hold less than their leases and grow
// later.
const retainedReserve = 128 * mib

// abandon gives up a request that does not stop. Its account must not be used again.
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
		p.opts.Logger.Warn("worker drains", "organisation", p.purpose.owner, "uploads", p.purpose.uploads, "pid", p.cmd.Process.Pid,
			"statements", left)
		p.limitDraining(p.purpose)
	}
}

// killDrained kills a draining child once no statement is left for which a caller waits. The caller
// holds mu.
func (p *process) killDrained() {
	if p.draining && p.ledger.running == 0 {
		p.end(reasonUnresponsive)
		_ = p.cmd.Process.Signal(syscall.SIGKILL) // fails only for a process that has ended
	}
}

// limitDraining kills the oldest draining processes for a purpose above MaxDraining, because each
// occupies memory that others wait for.
func (e *Engine) limitDraining(use purpose) {
	var draining []*process
	for _, p := range e.processes.all() {
		if p.purpose == use && p.drains() {
			draining = append(draining, p)
		}
	}
	slices.SortFunc(draining, func(a, b *process) int { return a.started.Compare(b.started) })
	for len(draining) > e.opts.MaxDraining {
		draining[0].kill(reasonUnresponsive)
		draining = draining[1:]
	}
}
