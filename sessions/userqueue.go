package sessions

import "container/list"

// orgQueue counts the leases of an organisation and queues its waiters by user. The
// mutex of the budget guards it. Invariants: held and running are the sums over users,
// and a user is in users exactly while it runs or waits for something.
type orgQueue struct {
	id      string
	held    int64
	running int
	waiting int
	turn    *list.Element // in budget.turns while there are waiters
	users   map[string]*userQueue
	turns   *list.List // of *userQueue with waiters; the front is served next
}

// userQueue is the part of an orgQueue for one user.
type userQueue struct {
	org     *orgQueue
	id      string
	held    int64
	running int
	waiters *list.List // of *waiter, in the order of arrival
	slow    []*slowStatement
	turn    *list.Element // in orgQueue.turns while there are waiters
}

// waiter is a statement that waits for its turn.
type waiter struct {
	user    *userQueue
	granted chan int64 // buffered; receives the lease
	elem    *list.Element
}

func newOrgQueue(id string) *orgQueue {
	return &orgQueue{id: id, users: map[string]*userQueue{}, turns: list.New()}
}

func (q *orgQueue) user(id string) *userQueue {
	u := q.users[id]
	if u == nil {
		u = &userQueue{org: q, id: id, waiters: list.New()}
		q.users[id] = u
	}
	return u
}

// push appends a waiter for a user.
func (q *orgQueue) push(user string) *waiter {
	u := q.user(user)
	w := &waiter{user: u, granted: make(chan int64, 1)}
	w.elem = u.waiters.PushBack(w)
	q.waiting++
	if u.turn == nil {
		u.turn = q.turns.PushBack(u)
	}
	return w
}

// remove removes a waiter that push returned.
func (q *orgQueue) remove(w *waiter) {
	u := w.user
	u.waiters.Remove(w.elem)
	q.waiting--
	if u.waiters.Len() == 0 {
		q.turns.Remove(u.turn)
		u.turn = nil
		q.forget(u)
	}
}

// hold adds to the number of statements and to the memory of a user.
func (q *orgQueue) hold(user string, running int, held int64) {
	u := q.user(user)
	u.running += running
	u.held += held
	q.running += running
	q.held += held
	q.forget(u)
}

func (q *orgQueue) forget(u *userQueue) {
	if u.running == 0 && u.waiters.Len() == 0 {
		delete(q.users, u.id)
	}
}

// waitingOf returns the number of waiters of an organisation and of one of its users.
func (b *budget) waitingOf(org, user string) (all, ofUser int) {
	q := b.orgs[org]
	if q == nil {
		return 0, 0
	}
	if u := q.users[user]; u != nil {
		ofUser = u.waiters.Len()
	}
	return q.waiting, ofUser
}

// nextUser returns the user of q whose turn it is: the first one below half of the
// organisation's share, or the first one if none is.
func (b *budget) nextUser(q *orgQueue) *userQueue {
	for e := q.turns.Front(); e != nil; e = e.Next() {
		if u := e.Value.(*userQueue); !b.aboveHalf(u) {
			return u
		}
	}
	return q.turns.Front().Value.(*userQueue)
}

// userShare returns the memory that one user may hold while other users of the
// organisation wait.
func (b *budget) userShare() int64 { return int64(float64(b.opts.Budget) * b.opts.OrgShare / 2) }

// aboveHalf reports whether one more statement would take a user above half of the
// memory or of the turns that its organisation may hold while others wait. It is false
// for a user who runs nothing.
func (b *budget) aboveHalf(u *userQueue) bool {
	return u.running > 0 &&
		(u.held+MinLease > b.userShare() || float64(u.running+1) > float64(b.opts.MaxRunning)*b.opts.OrgShare/2)
}
