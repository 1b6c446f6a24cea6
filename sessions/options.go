package sessions

import (
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	mib = int64(1) << 20
	// MinLease is the smallest memory a statement can work with.
	MinLease = 128 * mib
)

// Options tunes a pool. The zero value is usable.
type Options struct {
	// Budget is the memory in bytes that all running statements share with what is
	// held beside their leases. Default 4 GiB.
	Budget int64
	// Beside is the memory in bytes of the budget that is held beside all leases,
	// and what the processes of those organisations would add that have none yet. It
	// is asked whenever a statement waits. Default: none.
	Beside func(orgs []string) int64
	// Reclaim gives back what it can of that when statements wait for it. Default:
	// nothing.
	Reclaim func()
	// Lease is the memory in bytes a statement gets when there is room; under
	// pressure it gets less, down to MinLease. Default 1 GiB.
	Lease int64
	// OrgShare is the fraction of Budget and of MaxRunning that one organisation can
	// hold while others wait. One user can hold half of that while other users of the
	// organisation wait. Default 0.5.
	OrgShare float64
	// MaxRunning caps statements that run at once. Default 8 a core.
	MaxRunning int
	// MaxQueued caps waiting statements, MaxQueuedOrg those of one organisation, and
	// MaxQueuedUser those of one user in it. Defaults: 512, half of MaxQueued, and
	// three quarters of MaxQueuedOrg.
	MaxQueued     int
	MaxQueuedOrg  int
	MaxQueuedUser int
	// MaxWait ends a wait. Default 30 s.
	MaxWait time.Duration
	// Linger is how long a session keeps its lease after a statement, while
	// nobody else needs it. Default 250 ms.
	Linger time.Duration
	// LingerRemote is Linger of sessions that reach remote stores: what they read
	// lies in the memory of their lease, and comes through the network again when
	// that is given back. Default 5 s.
	LingerRemote time.Duration
	// MaxIdle caps sessions kept warm; IdleTimeout closes one that is not used;
	// IdleBytes is what filtered copies of all warm sessions together may hold.
	// Defaults 64, 60 s, a quarter of Budget.
	MaxIdle     int
	IdleTimeout time.Duration
	IdleBytes   int64
	// Threads is a statement's number of worker threads. Default: cores.
	Threads int
	// TempBytes caps a statement's spill. Default 10 GiB.
	TempBytes int64
	// Registerer receives the metrics; nil means none.
	Registerer prometheus.Registerer
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	def(&o.Budget, 4096*mib)
	def(&o.Lease, 1024*mib)
	def(&o.OrgShare, 0.5)
	def(&o.MaxRunning, 8*runtime.NumCPU())
	def(&o.MaxQueued, 512)
	// The defaults are fractions, so that one organisation cannot fill the queue and
	// one user cannot fill the part of an organisation.
	def(&o.MaxQueuedOrg, max(1, o.MaxQueued/2))
	def(&o.MaxQueuedUser, max(1, o.MaxQueuedOrg*3/4))
	def(&o.MaxWait, 30*time.Second)
	def(&o.Linger, 250*time.Millisecond)
	def(&o.LingerRemote, 5*time.Second)
	def(&o.MaxIdle, 64)
	def(&o.IdleTimeout, 60*time.Second)
	def(&o.IdleBytes, o.Budget/4)
	def(&o.Threads, runtime.NumCPU())
	def(&o.TempBytes, 10*1024*mib)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Beside == nil {
		o.Beside = func([]string) int64 { return 0 }
	}
	if o.Reclaim == nil {
		o.Reclaim = func() {}
	}
	o.Budget = max(o.Budget, MinLease)
	o.Lease = min(max(o.Lease, MinLease), o.Budget)
	return o
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// lingerOf is how long sessions of a key linger.
func (o Options) lingerOf(key Key) time.Duration {
	for _, root := range key.Roots {
		if strings.Contains(root, "://") {
			return max(o.Linger, o.LingerRemote)
		}
	}
	return o.Linger
}
