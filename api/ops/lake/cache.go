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
	// maxKept and maxKeptBytes bound the snapshots in memory. The table that
	// was asked for last is kept however large it is.
	maxKept      = 4096
	maxKeptBytes = 512 << 20
)

// keptTables are the newest snapshots by place. What was not asked for longest
// goes first; a snapshot that is needed again is loaded again.
//
// Invariants: bytes is the sum of what the entries of places weigh; an entry
// that is no longer in places weighs nothing, and those who still hold it use it
// up by themselves.
type keptTables struct {
	most int64

	mu     sync.Mutex
	places map[place]*keptTable
	bytes  int64
	clock  int64 // counts the calls of at

	loads, advances, unchanged, evictions atomic.Int64
}

// keptTable is the snapshot of a place. Whoever holds the turn looks at the log;
// the others wait, as long as their callers do.
type keptTable struct {
	turn chan struct{} // of one
	snap *delta.Snapshot
	// seen is when the last look at the log began that gave snap.
	seen time.Time
	// behind is set when another replica says that there is a newer version.
	behind atomic.Bool

	// Those of keptTables.
	bytes, used int64
}

// at returns the entry of a place and makes room when there are too many.
func (k *keptTables) at(p place) *keptTable {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock++
	t := k.places[p]
	if t == nil {
		t = &keptTable{turn: make(chan struct{}, 1)}
		k.places[p] = t
	}
	t.used = k.clock
	k.shrink(t)
	return t
}

// weigh takes note of what the entry of a place holds now. The caller has the
// entry's turn.
func (k *keptTables) weigh(p place, t *keptTable) {
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

// shrink evicts until the bounds hold; never the entry in use.
func (k *keptTables) shrink(inUse *keptTable) {
	for len(k.places) > maxKept || k.bytes > k.most {
		var oldest *keptTable
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

// outdate has the next call look at the logs of the tables at a path, or of all
// when config is empty, however little time has passed.
func (k *keptTables) outdate(config catalog.ConfigID, path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for p, t := range k.places {
		if config == "" || p.config == config && p.path == path {
			t.behind.Store(true)
		}
	}
}

// count notes what a look at the log found: before is nil for a load.
func (k *keptTables) count(before, after *delta.Snapshot) {
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
	k := &l.kept
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
	const looks, looksHelp = "lakewarden_snapshots_looks_total", "Looks at a table's log: loaded whole, advanced by commits, or found unchanged."
	counter(looks, looksHelp, prometheus.Labels{"result": "loaded"}, &k.loads)
	counter(looks, looksHelp, prometheus.Labels{"result": "advanced"}, &k.advances)
	counter(looks, looksHelp, prometheus.Labels{"result": "unchanged"}, &k.unchanged)
	counter("lakewarden_snapshots_evictions_total", "Snapshots that made room for others.", nil, &k.evictions)
}
