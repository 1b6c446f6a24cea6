package worker

import (
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

// How often the memory of a child is looked at: while it runs statements, more
// often the less is left of what it may hold.
const (
	sampleIdle    = time.Second
	sampleRunning = 20 * time.Millisecond
	sampleNear    = time.Millisecond
	// fastest is how many bytes a second statements can take, by measurement.
	fastest = 4 << 30
	// patienceIdle is how long an idle child may hold too much.
	patienceIdle = 6 * time.Second
)

// A lease is what a process may grow by. The engine's own limit is lower by a
// share, because not all that a statement takes is within that limit: buffers of
// readers, strings under construction, free pages of the allocator. A process is
// killed when it is above its leases by another share, so that what it takes on
// until it is gone stays within 15 %.
const (
	engineShare   = 8        // the lease's part that the engine's limit leaves out: 1/8,
	engineReserve = 24 * mib // and at least this
	killShare     = 32       // the lease's part above the lease that kills: 1/32
)

// engineLimit is the engine's limit under a lease of that many bytes.
func engineLimit(lease int64) int64 {
	return max(lease-max(lease/engineShare, engineReserve), lease/2)
}

// leased is what a lease grants in bytes.
func leased(l engine.Lease) int64 {
	if l.Memory <= 0 {
		return 1 << 30 // the engine's own default
	}
	return l.Memory
}

// account is what one session may hold in memory. Its process's mutex guards it.
type account struct {
	// leased is the lease of its statement, or of its last one until it rests.
	leased int64
	// resting is what it may hold between statements, as of era.
	resting int64
	era     int
	running bool
}

// ledger sums up what a child may hold: a base, which is what it held when
// nobody had a lease, what came to rest since, and the leases. The process's
// mutex guards it.
type ledger struct {
	leased  int64
	running int
	// retained is the memory that abandoned requests may use until the child ends.
	// abandoned is the number of these requests.
	retained  int64
	abandoned int
	base      int64
	// resting is what sessions may hold that came to rest since base was measured,
	// in the present era; allResting is what all may.
	resting, allResting int64
	era                 int
	// resident is what the child held when it was looked at last.
	resident int64
	// overSince is when an idle child was first seen to hold too much.
	overSince time.Time
	timer     *time.Timer
}

func (g *ledger) stop() { g.timer.Stop() }

// limit is what kills a child that holds more.
func (g *ledger) limit() int64 {
	leased := g.leased + g.retained
	return g.base + g.resting + leased + leased/killShare
}

// beside returns how much the child holds that no lease covers, including retained.
func (g *ledger) beside() int64 { return max(g.base+g.retained, g.resident-g.leased) }

// measure finds the base while no statement runs. least is the smallest base.
// Beside a lease that is not given back yet, it is at least what it was.
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

// rest changes what a session may hold between statements.
func (g *ledger) rest(a *account, bytes int64) {
	if a.era == g.era {
		g.resting -= a.resting
	}
	g.resting += bytes
	g.allResting += bytes - a.resting
	a.resting, a.era = bytes, g.era
}

// begin counts a statement in that may take lease bytes. It fails for a process
// that is about to go.
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
		g.timer.Reset(sampleNear)
	}
	g.running++
	a.running = true
	g.lend(a, lease)
	g.rest(a, 0)
	return true
}

// finish ends the statement of an account. Its lease is still granted.
func (p *process) finish(a *account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.running {
		a.running = false
		p.ledger.running--
		p.killDrained()
	}
}

// settle ends the lease of a session and says what it may hold from now on.
func (p *process) settle(a *account, bytes int64) {
	p.finish(a)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ledger.lend(a, 0)
	p.ledger.rest(a, bytes)
}

// warmed says that a session without a lease opened what it needs.
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

// beside is what the process holds that no lease covers.
func (p *process) beside() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ledger.beside()
}

// sample looks at the child once and plans the next look.
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

// sampleIdle ends a child that runs nothing and holds too much for that. The
// caller holds mu.
func (p *process) sampleIdle(now time.Time) {
	g := &p.ledger
	switch {
	case g.resident <= p.opts.BaseMemory+idleFloor+g.allResting+g.leased:
		g.overSince = time.Time{}
	case g.overSince.IsZero():
		g.overSince = now
	case now.Sub(g.overSince) > patienceIdle:
		// Nobody runs anything: its sessions go on in a new process.
		p.end(reasonIdle)
		go p.retire(reasonIdle)
	}
}
