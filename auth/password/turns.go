package password

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrBusy is returned if more callers wait for a hash than the hasher allows. A retry may
// succeed. It becomes 503.
var ErrBusy = errors.New("too many passwords are being verified")

// Source is where a caller comes from. Networks take turns, the clients of one network take
// its turns, and the callers of one client are served in the order of their arrival.
type Source struct {
	// Network is the part of all addresses that one attacker is assumed to control, and
	// Client the part of the network that one user has.
	Network, Client string
}

// turns bounds the hashes in progress. Networks take turns in a cycle, and so do the clients
// of each network.
//
// Invariants: running ≤ limit; callers wait only while running = limit; waiting is the
// sum of the queues' lengths, waiting ≤ most, and no queue is empty.
type turns struct {
	limit, most int

	mu      sync.Mutex
	running int
	waiting int
	// cycle holds the networks with waiting callers; the next turn is that of the first.
	cycle []*network
}

// network is a network with waiting callers.
type network struct {
	name    string
	waiting int
	// cycle holds the clients with waiting callers; the next turn is that of the first.
	cycle []*client
}

// client is a client with waiting callers, the oldest first.
type client struct {
	name  string
	queue []*waiter
}

// waiter is a caller that waits. Its channel receives one value: nil for its turn, or
// [ErrBusy].
type waiter struct{ turn chan error }

func newTurns(limit, most int) *turns { return &turns{limit: limit, most: most} }

// wait waits for the turn of a source. The caller calls done once, after its hash. If too
// many callers wait, one of the network with the most waiting callers gives way: the newest
// one of its client with the most. So a flood of one network displaces itself, however many
// clients it has.
func (t *turns) wait(ctx context.Context, source Source) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	if t.running < t.limit {
		t.running++
		t.mu.Unlock()
		return t.done, nil
	}
	w := &waiter{turn: make(chan error, 1)}
	t.add(source, w)
	t.mu.Unlock()
	select {
	case err := <-w.turn:
		if err != nil {
			return nil, err
		}
		return t.done, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	waited := t.remove(source, w)
	t.mu.Unlock()
	if !waited && <-w.turn == nil { // the turn came at the same time
		t.done()
	}
	return nil, ctx.Err()
}

// done ends a hash and gives its place to the next source.
func (t *turns) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.cycle) == 0 {
		t.running--
		return
	}
	n := t.cycle[0]
	c := n.cycle[0]
	w := c.queue[0]
	// The ones whose turn it was are the last of their cycles now.
	t.cycle = append(t.cycle[1:], n)
	n.cycle = append(n.cycle[1:], c)
	t.remove(Source{n.name, c.name}, w)
	w.turn <- nil
}

func (t *turns) add(source Source, w *waiter) {
	n := t.network(source.Network)
	if n == nil {
		n = &network{name: source.Network}
		t.cycle = append(t.cycle, n)
	}
	c := n.client(source.Client)
	if c == nil {
		c = &client{name: source.Client}
		n.cycle = append(n.cycle, c)
	}
	c.queue = append(c.queue, w)
	n.waiting++
	if t.waiting++; t.waiting <= t.most {
		return
	}
	for _, other := range t.cycle {
		if other.waiting > n.waiting {
			n, c = other, other.cycle[0]
		}
	}
	for _, other := range n.cycle {
		if len(other.queue) > len(c.queue) {
			c = other
		}
	}
	newest := c.queue[len(c.queue)-1]
	t.remove(Source{n.name, c.name}, newest)
	newest.turn <- ErrBusy
}

// remove removes a waiter and reports whether it was waiting. Networks and clients without
// waiters leave their cycles.
func (t *turns) remove(source Source, w *waiter) bool {
	n := t.network(source.Network)
	if n == nil {
		return false
	}
	c := n.client(source.Client)
	if c == nil {
		return false
	}
	at := slices.Index(c.queue, w)
	if at < 0 {
		return false
	}
	t.waiting--
	n.waiting--
	c.queue = slices.Delete(c.queue, at, at+1)
	if len(c.queue) == 0 {
		n.cycle = slices.DeleteFunc(n.cycle, func(other *client) bool { return other == c })
	}
	if n.waiting == 0 {
		t.cycle = slices.DeleteFunc(t.cycle, func(other *network) bool { return other == n })
	}
	return true
}

// network returns the network with a name, or nil if none of its callers wait. At most most
// networks are in the cycle.
func (t *turns) network(name string) *network {
	for _, n := range t.cycle {
		if n.name == name {
			return n
		}
	}
	return nil
}

// client returns the client with a name, or nil if none of its callers wait.
func (n *network) client(name string) *client {
	for _, c := range n.cycle {
		if c.name == name {
			return c
		}
	}
	return nil
}
