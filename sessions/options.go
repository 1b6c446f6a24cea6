package sessions

import (
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	mib = int64(1) << 20
	// MinLease is the smallest lease of a statement, in bytes.
	MinLease = 128 * mib
)

// Options tunes a pool. The zero value is usable.
type Options struct {
	// Budget is the memory in bytes for all running statements and for Overhead.
	// Default 4 GiB.
	Budget int64
	// Overhead returns the memory in bytes that no lease covers, including that of the
	// processes which the given organisations would start. It is called whenever a
	// statement waits. Default: none.
	Overhead func(orgs []string) int64
	// Reclaim frees such memory as far as possible when statements wait for it.
	// Default: nothing.
	Reclaim func()
	// Lease is the usual memory of a statement in bytes. Under pressure a statement
	// gets less, down to MinLease. Default 1 GiB.
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
	// MaxWait bounds a wait. Default 30 s.
	MaxWait time.Duration
	// Linger is how long a session retains its lease after a statement while no other
	// statement needs it. Default 250 ms.
	Linger time.Duration
	// LingerRemote replaces Linger for sessions that read remote stores. The data they
	// have read is in the memory of their lease and would have to be read again after
	// the lease is returned. Default 5 s.
	LingerRemote time.Duration
	// MaxIdle bounds the number of warm sessions. IdleTimeout closes an unused one.
	// IdleBytes bounds the filtered copies of all warm sessions together. Defaults 64,
	// 60 s, a quarter of Budget.
	MaxIdle     int
	IdleTimeout time.Duration
	IdleBytes   int64
	// MaxAge closes a session that was opened so long ago, after its statement: it may cache
	// files that another engine has deleted. Default 30 min.
	MaxAge time.Duration
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
	def(&o.MaxAge, 30*time.Minute)
	def(&o.IdleBytes, o.Budget/4)
	def(&o.Threads, runtime.NumCPU())
	def(&o.TempBytes, 10*1024*mib)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Overhead == nil {
		o.Overhead = func([]string) int64 { return 0 }
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

// lingerOf returns how long sessions of a key linger.
func (o Options) lingerOf(key Key) time.Duration {
	for _, root := range slices.Concat(key.Roots, key.ServiceRoots) {
		if strings.Contains(root, "://") {
			return max(o.Linger, o.LingerRemote)
		}
	}
	return o.Linger
}
