package lake

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
)

const (
	// maxCached and maxCachedBytes bound the cached snapshots. The last one is cached
	// however large it is.
	maxCached      = 4096
	maxCachedBytes = 512 << 20
)

// cachedTables holds the newest snapshots by place. The least recently used one is evicted
// first; a snapshot that is needed again is loaded again.
//
// Invariants: bytes is the sum of the sizes of the entries in places; the size of an
// evicted entry is zero, although callers may still use its snapshot.
type cachedTables struct {
	most int64

	mu     sync.Mutex
	places map[place]*cachedTable
	bytes  int64
	clock  int64 // counts the calls of at

	loads, advances, unchanged, evictions atomic.Int64
}

// cachedTable is the snapshot of a place. The holder of the turn refreshes it; others wait
// for the turn as long as their contexts allow.
type cachedTable struct {
	turn chan struct{} // of one
	snap *delta.Snapshot
	// seen is when the refresh that returned snap began.
	seen time.Time
	// behind is set when another replica announces a newer version.
	behind atomic.Bool

	// The fields below are guarded by cachedTables.mu.
	bytes, used int64
}

// at returns the entry of a place, and evicts others if there are too many.
func (k *cachedTables) at(p place) *cachedTable {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock++
	t := k.places[p]
	if t == nil {
		t = &cachedTable{turn: make(chan struct{}, 1)}
		k.places[p] = t
	}
	t.used = k.clock
	k.shrink(t)
	return t
}

// has reports whether there is an entry of a place.
func (k *cachedTables) has(p place) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.places[p] != nil
}

// weigh records the size of an entry. The caller has the entry's turn.
func (k *cachedTables) weigh(p place, t *cachedTable) {
	bytes := int64(0)
	if t.snap != nil {
		bytes = t.snap.MemoryBytes()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.places[p] != t {
		return // was evicted meanwhile
	}
	k.bytes += bytes - t.bytes
	t.bytes = bytes
	k.shrink(t)
}

// shrink evicts until the bounds hold, but never the entry in use.
func (k *cachedTables) shrink(inUse *cachedTable) {
	for len(k.places) > maxCached || k.bytes > k.most {
		var oldest *cachedTable
		var where place
		for p, t := range k.places {
			if t != inUse && (oldest == nil || t.used < oldest.used) {
				oldest, where = t, p
			}
		}
		if oldest == nil {
			return
		}
		delete(k.places, where)
		k.bytes -= oldest.bytes
		oldest.bytes = 0
		k.evictions.Add(1)
	}
}

// outdate has the next call refresh the tables at a path, or all tables if config is
// empty, however recent their snapshots are.
func (k *cachedTables) outdate(config catalog.ConfigID, path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for p, t := range k.places {
		if config == "" || p.config == config && p.path == path {
			t.behind.Store(true)
		}
	}
}

// outdateOthers has the next call refresh the table at a place if its configuration has another
// version.
func (k *cachedTables) outdateOthers(changed place) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for p, t := range k.places {
		if p.config == changed.config && p.path == changed.path && p != changed {
			t.behind.Store(true)
		}
	}
}

// count counts the outcome of a refresh: before is nil for a load.
func (k *cachedTables) count(before, after *delta.Snapshot) {
	switch {
	case before == nil:
		k.loads.Add(1)
	case before == after:
		k.unchanged.Add(1)
	default:
		k.advances.Add(1)
	}
}

// Measure registers lakewarden_snapshots_bytes, lakewarden_snapshots_tables,
// lakewarden_snapshots_looks_total{result} and
// lakewarden_snapshots_evictions_total.
func (l *Lake) Measure(registerer prometheus.Registerer) {
	k := &l.cache
	gauge := func(name, help string, value func() float64) {
		registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	locked := func(value func() float64) func() float64 {
		return func() float64 {
			k.mu.Lock()
			defer k.mu.Unlock()
			return value()
		}
	}
	gauge("lakewarden_snapshots_bytes", "Estimated memory of the snapshots of tables.", locked(func() float64 { return float64(k.bytes) }))
	gauge("lakewarden_snapshots_tables", "Tables whose snapshot is in memory.", locked(func() float64 { return float64(len(k.places)) }))
	counter := func(name, help string, labels prometheus.Labels, n *atomic.Int64) {
		registerer.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(n.Load()) }))
	}
	const looks, looksHelp = "lakewarden_snapshots_looks_total",
		"Looks at a table's log: loaded whole, advanced by commits, or found unchanged."
	counter(looks, looksHelp, prometheus.Labels{"result": "loaded"}, &k.loads)
	counter(looks, looksHelp, prometheus.Labels{"result": "advanced"}, &k.advances)
	counter(looks, looksHelp, prometheus.Labels{"result": "unchanged"}, &k.unchanged)
	counter("lakewarden_snapshots_evictions_total", "Snapshots that made room for others.", nil, &k.evictions)
}

// Forget drops the snapshots of the tables at the places for which match is true.
func (l *Lake) Forget(match func(config catalog.ConfigID, path string) bool) {
	k := &l.cache
	k.mu.Lock()
	defer k.mu.Unlock()
	for p, t := range k.places {
		if match(p.config, p.path) {
			delete(k.places, p)
			k.bytes -= t.bytes
			t.bytes = 0
		}
	}
}
