package analysis

import (
	"context"
	"runtime"
	"sync"

	"github.com/lakewarden/lakewarden/catalog"
)

// Turns bounds the analyses that run at the same time, because each may take hundreds of
// megabytes. Others wait for their turn. It is safe for concurrent use.
type Turns struct {
	all chan struct{}
	// most bounds those of one organisation.
	most int

	mu   sync.Mutex
	orgs map[catalog.OrgID]*orgTurns
}

// orgTurns are the turns of an organisation. users counts who has or awaits one.
type orgTurns struct {
	taken chan struct{}
	users int
}

// NewTurns returns turns for analyses, as many as the server has cores, but at least four.
// No organisation has more than half of them.
func NewTurns() *Turns { return newTurns(max(4, runtime.GOMAXPROCS(0))) }

func newTurns(all int) *Turns {
	return &Turns{all: make(chan struct{}, all), most: max(1, all/2), orgs: map[catalog.OrgID]*orgTurns{}}
}

// take waits for a turn, which the caller releases. It returns the error of ctx if that ends
// first.
func (t *Turns) take(ctx context.Context, org catalog.OrgID) (release func(), err error) {
	own := t.enter(org)
	if err := push(ctx, own.taken); err != nil {
		t.leave(org)
		return nil, err
	}
	if err := push(ctx, t.all); err != nil {
		<-own.taken
		t.leave(org)
		return nil, err
	}
	return func() {
		<-t.all
		<-own.taken
		t.leave(org)
	}, nil
}

func push(ctx context.Context, c chan struct{}) error {
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Turns) enter(org catalog.OrgID) *orgTurns {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.orgs[org]
	if own == nil {
		own = &orgTurns{taken: make(chan struct{}, t.most)}
		t.orgs[org] = own
	}
	own.users++
	return own
}

func (t *Turns) leave(org catalog.OrgID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own := t.orgs[org]; own.users > 1 {
		own.users--
	} else {
		delete(t.orgs, org)
	}
}
