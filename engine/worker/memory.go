package worker

import "time"

// How often the memory of a child is looked at, and for how long a lease that
// was given back still counts: allocators do not return memory at once.
const (
	sampleRunning = 20 * time.Millisecond
	sampleIdle    = time.Second
	settleTime    = 3 * time.Second
)

// account is what one session may hold in memory.
type account struct {
	granted int64
	running bool
}

// ledger sums up what a child may hold. The process's mutex guards it.
type ledger struct {
	granted int64
	running int
	// peak is the largest sum of grants until peakEnds.
	peak     int64
	peakEnds time.Time
	// retained is what the child held beyond all grants when the first of the
	// running statements began: memory of the past is not theirs.
	retained int64
	// overSince is when an idle child was first seen to hold too much.
	overSince time.Time
	// culprit: the child was killed for its memory with one statement running.
	culprit bool
	timer   *time.Timer
}

func (g *ledger) stop() { g.timer.Stop() }

// allowed is the sum of grants that counts at t.
func (g *ledger) allowed(t time.Time) int64 {
	if t.Before(g.peakEnds) {
		return max(g.peak, g.granted)
	}
	return g.granted
}

// grant changes what a session may hold.
func (g *ledger) grant(a *account, bytes int64, t time.Time) {
	if bytes < a.granted {
		g.peak, g.peakEnds = g.allowed(t), t.Add(settleTime)
	}
	g.granted += bytes - a.granted
	a.granted = bytes
}

// begin counts a statement in that may take lease bytes. It fails for a process
// that is about to go.
func (p *process) begin(a *account, lease int64) bool {
	resident := p.meter.resident()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaving {
		return false
	}
	g, now := &p.ledger, time.Now()
	if g.running == 0 {
		g.retained = max(resident-g.allowed(now), 0)
		g.timer.Reset(sampleRunning)
	}
	g.running++
	a.running = true
	g.grant(a, lease, now)
	return true
}

// finish ends the statement of an account. Its lease is still granted.
func (p *process) finish(a *account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.running {
		a.running = false
		p.ledger.running--
	}
}

// settle says what a session may hold while it runs nothing.
func (p *process) settle(a *account, bytes int64) {
	p.finish(a)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ledger.grant(a, bytes, time.Now())
}

// watchMemory starts sampling. The caller holds mu.
func (p *process) watchMemory() { p.ledger.timer = time.AfterFunc(sampleIdle, p.sample) }

func (p *process) resident() int64 { return p.meter.resident() }

// sample looks at the child once and plans the next look.
func (p *process) sample() {
	resident := p.resident()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaving {
		return
	}
	g, now := &p.ledger, time.Now()
	base := max(p.opts.BaseMemory, g.retained) + int64(p.users)*p.opts.SessionMemory
	over := resident > base+g.allowed(now)/100*115
	if g.running > 0 {
		g.timer.Reset(sampleRunning)
		if over {
			g.culprit = g.running == 1
			p.end(reasonMemory)
			_ = p.cmd.Process.Kill()
		}
		return
	}
	g.timer.Reset(sampleIdle)
	g.retained = 0
	switch {
	case !over:
		g.overSince = time.Time{}
	case g.overSince.IsZero():
		g.overSince = now
	case now.Sub(g.overSince) > 2*settleTime:
		// Nobody runs anything: its sessions go on in a new process.
		p.end(reasonIdle)
		go p.retire(reasonIdle)
	}
}
