package worker

import (
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

// The intervals at which the memory of a child is sampled: while it runs statements, the less
// memory remains, the shorter the interval.
const (
	sampleIdle    = time.Second
	sampleRunning = 20 * time.Millisecond
	sampleNear    = time.Millisecond
	// fastest is the measured maximum rate, in bytes per second, at which statements allocate.
	fastest = 4 << 30
	// idleExcessTime is how long an idle child may exceed its limit.
	idleExcessTime = 6 * time.Second
)

// A lease is the amount by which a process may grow. The engine's own limit is lower by a share,
// because it does not cover all memory of a statement: buffers of readers, strings under
// construction, free pages of the allocator. A process is killed when it exceeds its leases by
// another share, so that its growth until it has ended stays within 15 %.
const (
	engineShare   = 8        // divisor of the lease's share that the engine's limit omits,
	engineReserve = 24 * mib // which is at least this
	killShare     = 32       // divisor of the lease's share above the lease at which a process is killed
)

// engineLimit returns the engine's limit for a lease of that many bytes.
func engineLimit(lease int64) int64 {
	return max(lease-max(lease/engineShare, engineReserve), lease/2)
}

// leased returns the bytes that a lease grants.
func leased(l engine.Lease) int64 {
	if l.Memory <= 0 {
		return 1 << 30 // the engine's own default
	}
	return l.Memory
}

// account is the memory that one session may use. Its process's mutex guards it.
type account struct {
	// leased is the lease of the session's statement, or of its last one until the session is idle.
	leased int64
	// resting is the memory that the session may hold between statements, valid for era.
	resting int64
	era     int
	running bool
}

// ledger computes how much memory a child may hold: the base, which was measured while no session
// had a lease, the memory of sessions that became idle since, and the leases. The process's mutex
// guards it.
type ledger struct {
	leased  int64
	running int
	// retained is the memory that abandoned requests may use until the child ends.
	// abandoned is the number of these requests.
	retained  int64
	abandoned int
	base      int64
	// resting is the memory that sessions may hold that became idle in the current era, which is
	// after base was measured; allResting includes all sessions.
	resting, allResting int64
	era                 int
	// resident is the result of the last sample of the child's memory, and atStart that of the
	// sample when the first of the running statements began.
	resident, atStart int64
	// overSince is when an idle child was first found to exceed its limit.
	overSince time.Time
	timer     *time.Timer
}

func (g *ledger) stop() { g.timer.Stop() }

// limit returns the memory above which a child is killed.
func (g *ledger) limit() int64 {
	leased := g.leased + g.retained
	return g.base + g.resting + leased + leased/killShare
}

// outgrown reports whether the process grew by more than its leases since the first of its
// statements began. If it did not, it had less to give than it lent.
func (g *ledger) outgrown() bool { return g.resident-g.atStart > g.leased }

// unleased returns how much the child holds that no lease covers, including retained.
func (g *ledger) unleased() int64 { return max(g.base+g.retained, g.resident-g.leased) }

// measure determines the base while no statement runs. least is the minimum. While there are leases
// that were not returned yet, the base does not decrease.
func (g *ledger) measure(least int64) {
	if g.leased > 0 {
		g.base = max(g.base, g.resident-g.leased)
		return
	}
	g.base = max(least, g.resident)
	g.resting = 0
	g.era++
}

// lend changes the lease of a session.
func (g *ledger) lend(a *account, bytes int64) {
	g.leased += bytes - a.leased
	a.leased = bytes
}

// rest changes the memory that a session may hold between statements.
func (g *ledger) rest(a *account, bytes int64) {
	if a.era == g.era {
		g.resting -= a.resting
	}
	g.resting += bytes
	g.allResting += bytes - a.resting
	a.resting, a.era = bytes, g.era
}

// crowded reports whether a session that has a lease from its last statement leaves too little of
// it for the next one: the engine fills its limit with what it has read, and over time the process
// holds more than the engine accounts.
func (p *process) crowded(a *account) bool {
	resident := p.meter.resident()
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &p.ledger
	return a.leased > 0 && g.running == 0 && resident > g.base+g.resting+engineLimit(g.leased)
}

// begin registers a statement that may use lease bytes. It returns false if the process is about to
// end.
func (p *process) begin(a *account, lease int64) bool {
	resident := p.meter.resident()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaving || p.draining {
		return false
	}
	g := &p.ledger
	g.resident = resident
	if g.running == 0 {
		g.measure(p.opts.BaseMemory)
		g.atStart = resident
		g.timer.Reset(sampleNear)
	}
	g.running++
	a.running = true
	g.lend(a, lease)
	g.rest(a, 0)
	return true
}

// finish ends the statement of an account. Its lease remains until settle.
func (p *process) finish(a *account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.running {
		a.running = false
		p.ledger.running--
		p.killDrained()
	}
}

// settle ends the lease of a session and sets the memory that it may hold from now on.
func (p *process) settle(a *account, bytes int64) {
	p.finish(a)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ledger.lend(a, 0)
	p.ledger.rest(a, bytes)
}

// warmed records that a session without a lease has opened its resources.
func (p *process) warmed(a *account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.leased == 0 {
		p.ledger.rest(a, max(a.resting, idleFloor))
	}
}

// watchMemory starts sampling. The caller holds mu.
func (p *process) watchMemory() {
	p.ledger.base = p.opts.BaseMemory
	p.ledger.timer = time.AfterFunc(sampleIdle, p.sample)
}

func (p *process) resident() int64 { return p.meter.resident() }

// unleased returns the memory that the process holds and no lease covers.
func (p *process) unleased() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ledger.unleased()
}

// sample measures the child's memory once and schedules the next sample.
func (p *process) sample() {
	resident := p.resident()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaving {
		return
	}
	g := &p.ledger
	g.resident = resident
	if g.running > 0 {
		left := g.limit() - resident
		if left < 0 {
			p.end(reasonMemory)
			_ = p.cmd.Process.Kill()
			return
		}
		g.timer.Reset(min(max(time.Duration(left)*time.Second/fastest, sampleNear), sampleRunning))
		return
	}
	g.timer.Reset(sampleIdle)
	g.measure(p.opts.BaseMemory)
	p.sampleIdle(time.Now())
}

// sampleIdle ends a child that runs nothing and exceeds its limit. The caller holds mu.
func (p *process) sampleIdle(now time.Time) {
	g := &p.ledger
	switch {
	case g.resident <= p.opts.BaseMemory+idleFloor+g.allResting+g.leased:
		g.overSince = time.Time{}
	case g.overSince.IsZero():
		g.overSince = now
	case now.Sub(g.overSince) > idleExcessTime:
		// No statement is running: the child's sessions continue in a new process.
		p.end(reasonIdle)
		go p.retire(reasonIdle)
	}
}
