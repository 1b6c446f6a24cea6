package worker

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/lakewarden/lakewarden/engine"
)

// protocol changes with every message: both sides must come from one build.
const protocol = 4

// process is one child. It is safe for concurrent use.
type process struct {
	opts    *Options
	purpose purpose
	metrics *metrics
	cmd     *exec.Cmd
	control *wire
	dir     string
	output  childLog
	meter   meter
	started time.Time
	// gone is closed when the child has ended and its directory has been removed.
	gone chan struct{}

	mu sync.Mutex
	// leaving reports that the child was told to end, or has ended; no session can join it.
	leaving bool
	// draining reports that a request did not stop in time. Other running statements
	// continue, no new ones begin, and the child ends with the last of them.
	draining bool
	reason   reason
	// users is the number of open links. idle ends the process after it had none for a while.
	users int
	idle  *time.Timer
	// served reports that a session was opened, so the process works in principle.
	served bool
	// statements is the number of statements that ran when the end began. state is how the child
	// ended; it is set before gone is closed.
	statements int
	state      *os.ProcessState
	ledger     ledger
	// limitDraining kills the oldest draining process for the purpose if there are too many.
	limitDraining func(purpose)
}

// startProcess starts a child for a purpose and waits until it can open sessions.
func (e *Engine) startProcess(use purpose) (*process, error) {
	p := &process{opts: &e.opts, purpose: use, metrics: e.metrics, gone: make(chan struct{}), started: time.Now(),
		limitDraining: e.limitDraining}
	dir, err := e.temp.Make("worker-")
	if err != nil {
		return nil, err
	}
	p.dir = dir
	if err := p.spawn(e.spawner); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	e.metrics.starts.Inc()
	e.processes.add(p)
	go func() {
		p.reap()
		e.processes.remove(p)
		close(p.gone)
	}()
	if err := p.greet(); err != nil {
		p.kill(reasonStart)
		<-p.gone
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = time.AfterFunc(p.opts.IdleTimeout, p.retireIdle)
	p.watchMemory()
	e.opts.Logger.Debug("worker started", "organisation", use.owner, "uploads", use.uploads, "pid", p.cmd.Process.Pid)
	return p, nil
}

// spawn starts the program.
func (p *process) spawn(s *spawner) error {
	control, theirs, err := newPair()
	if err != nil {
		return err
	}
	p.control = control
	defer theirs.Close()
	output, sink, err := os.Pipe()
	if err != nil {
		return errors.Join(err, p.control.conn.Close())
	}
	defer sink.Close()
	p.cmd = &exec.Cmd{
		Path: p.opts.Command[0], Args: p.opts.Command, Dir: p.dir,
		Env:    []string{}, // nil would pass on the parent's
		Stderr: sink, ExtraFiles: []*os.File{theirs},
	}
	if err := s.start(p.cmd); err != nil {
		return errors.Join(err, output.Close(), p.control.conn.Close())
	}
	p.output.follow(output, p.opts.Logger.With("pid", p.cmd.Process.Pid))
	p.meter = newMeter(p.cmd.Process.Pid)
	return nil
}

// greet sends the setup and waits until the child's engine is ready.
func (p *process) greet() error {
	if err := p.control.conn.SetDeadline(time.Now().Add(p.opts.StartTimeout)); err != nil {
		return err
	}
	if err := p.control.send(kindSetup, 0, encode(setupMessage{protocol, p.opts.Setup})); err != nil {
		return err
	}
	f, err := p.control.receive()
	if err != nil {
		return err
	}
	if f.kind == kindFailed {
		var failure failureMessage
		if err := decodeReply(f.head, &failure); err != nil {
			return err
		}
		return failure.err()
	}
	if f.kind != kindDone {
		return errWire
	}
	return p.control.conn.SetDeadline(time.Time{})
}

// reap waits for the child's end and removes its files.
func (p *process) reap() {
	state, _ := p.cmd.Process.Wait()
	crash := p.output.cause()
	p.mu.Lock()
	p.end(reasonCrash)
	p.state = state
	why, began := p.reason, p.idle != nil
	if began {
		p.idle.Stop()
		p.ledger.stop()
	}
	p.mu.Unlock()
	_ = p.control.conn.Close()
	p.meter.close()
	_ = os.RemoveAll(p.dir)
	p.metrics.ends.WithLabelValues(string(why)).Inc()
	if why == reasonIdle || why == reasonClosed {
		p.opts.Logger.Debug("worker ended", "organisation", p.purpose.owner, "uploads", p.purpose.uploads, "pid", p.cmd.Process.Pid,
			"reason", why)
	} else {
		p.opts.Logger.Warn("worker ended", "organisation", p.purpose.owner, "uploads", p.purpose.uploads, "pid", p.cmd.Process.Pid,
			"reason", why, "state", state.String(), "crash", crash, "statements", p.statements, "age", time.Since(p.started).String())
	}
}

// kill ends the child at once. Only the first reason is recorded.
func (p *process) kill(why reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(why)
	_ = p.cmd.Process.Kill() // fails only if it has ended already
}

// end marks the process as leaving for a reason. The caller holds mu.
func (p *process) end(why reason) {
	p.leaving = true
	if p.reason == "" {
		p.reason, p.statements = why, p.ledger.running+p.ledger.abandoned
	}
}

// retire tells the child to end and kills it if it does not. It returns when the child is gone.
func (p *process) retire(why reason) {
	p.mu.Lock()
	p.end(why)
	p.mu.Unlock()
	_ = p.control.conn.CloseWrite()
	patience := time.NewTimer(p.opts.Grace + retireTimeout)
	defer patience.Stop()
	select {
	case <-p.gone:
	case <-patience.C:
		_ = p.cmd.Process.Kill()
		<-p.gone
	}
}

// retireTimeout is how long a child may take to free its engine.
const retireTimeout = 4 * time.Second

// retireIdle ends a child that has no sessions.
func (p *process) retireIdle() {
	p.mu.Lock()
	unused := p.users == 0 && !p.leaving
	if unused {
		p.end(reasonIdle)
	}
	p.mu.Unlock()
	if unused {
		p.retire(reasonIdle)
	}
}

// join registers a user. It returns false if the process is about to end.
func (p *process) join() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaving || p.draining {
		return false
	}
	p.users++
	p.idle.Stop()
	return true
}

func (p *process) part() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 && !p.leaving {
		p.idle.Reset(p.opts.IdleTimeout)
	}
}

// opened records that the process has served a session.
func (p *process) opened() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served = true
}

func (p *process) hasServed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.served
}

// usable reports whether requests may be sent.
func (p *process) usable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.leaving && !p.draining
}

// drains reports whether the process only finishes its running statements.
func (p *process) drains() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.draining && !p.leaving
}

// link is a socket to a child for one session. Only one goroutine at a time may use it.
type link struct {
	proc *process
	wire *wire
	seq  uint32
	// broken reports that the child's session is unusable, lost that the child has ended. abandoned
	// reports that the child does not reply on this link but may still work for it.
	broken, lost, abandoned bool
	account                 account
	sources                 sentSources
}

// dial opens a link. The process counts it as a user until it is closed. A failure to make sockets
// in the parent does not count against the process.
func (p *process) dial() (*link, error) {
	if !p.join() {
		return nil, fatal(engine.ClassLost, "the process is ending")
	}
	w, theirs, err := newPair()
	if err != nil {
		p.part()
		return nil, fatal("worker_link", err.Error())
	}
	defer theirs.Close()
	if err := p.control.pass(theirs); err != nil {
		w.close()
		p.part()
		return nil, p.lost(err, false)
	}
	return &link{proc: p, wire: w}, nil
}

// newPair returns the parent's wire, which receives replies, and the file of its other end.
func newPair() (*wire, *os.File, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, nil, err
	}
	w, err := wireOf(ours)
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	w.most = maxReply
	return w, theirs, nil
}

// close ends the link and waits until the child has freed its session. A child that does not is
// killed, unless it runs other statements; then close does not wait.
func (l *link) close() {
	defer l.proc.part()
	defer l.proc.settle(&l.account, 0)
	defer l.wire.close()
	if l.lost || l.wire.conn.CloseWrite() != nil || l.wire.conn.SetReadDeadline(time.Now().Add(l.proc.opts.Grace+retireTimeout)) != nil {
		return
	}
	for {
		f, err := l.wire.receive()
		if err == nil {
			err = l.wire.skip(f.body)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			l.abandoned = true
			l.proc.abandon(&l.account)
		}
		if err != nil {
			return
		}
	}
}

// giveUp ends a process that cannot be reached, because it is of no use to other sessions either.
func (p *process) giveUp(err error) {
	if errors.Is(err, errWire) {
		p.kill(reasonProtocol)
	} else {
		p.kill(reasonCrash)
	}
}

// lost returns the error for a request whose process cannot be reached; statement reports that the
// request was a statement. It waits for the end of the process, which reveals the cause.
func (p *process) lost(err error, statement bool) error {
	p.giveUp(err)
	<-p.gone
	p.mu.Lock()
	defer p.mu.Unlock()
	alone := statement && p.statements == 1
	text := string(p.reason) + ": " + err.Error()
	switch {
	case p.reason == reasonClosed:
		return engine.Interrupted(engine.CauseClosed)
	case p.reason == reasonMemory && alone && p.ledger.outgrown():
		return &engine.Error{Kind: engine.KindOutOfMemory, Class: "worker_memory", Position: -1, Text: text}
	case p.reason == reasonCrash && alone && !killed(p.state),
		p.reason == reasonProtocol && statement && errors.Is(err, errWire):
		return fatal(engine.ClassCrashed, text)
	}
	return fatal(engine.ClassLost, text)
}

// killed reports that a child was ended by a signal that nothing inside it raises: it was killed
// from outside, or the machine was short of memory.
func killed(s *os.ProcessState) bool {
	status, ok := s.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// sleep waits for d or ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return engine.Interrupted(engine.CauseContext)
	case <-t.C:
		return nil
	}
}
