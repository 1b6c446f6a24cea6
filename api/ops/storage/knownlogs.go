package storage

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// minLogAge is the age that the first file of a log has when the log is remembered. It covers the
// resolution of the store's times and the difference between its clock and ours: a log that
// replaces a remembered one has a first file of another time.
const minLogAge = 2 * time.Minute

// maxKnownLogs bounds the number of remembered logs of all configurations, at about 100 bytes
// each.
const maxKnownLogs = 200_000

// KnownLogs remembers the logs that discoveries have read, so that the next discovery reads only
// those that have changed. A log is unchanged if its first file is the same and no commit follows
// the last version that was read. It is safe for concurrent use.
type KnownLogs struct {
	mu      sync.Mutex
	configs map[catalog.ConfigID]map[logKey]int64
	total   int
}

// NewKnownLogs returns a memory without logs.
func NewKnownLogs() *KnownLogs { return &KnownLogs{configs: map[catalog.ConfigID]map[logKey]int64{}} }

// logKey is a digest of the path, the id and the first file of a log.
type logKey [16]byte

func keyOf(found storage.FoundTable, id catalog.DeltaID) logKey {
	var text []byte
	for _, part := range []string{found.Path, string(id), found.Log.Name} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}
	text = binary.BigEndian.AppendUint64(text, uint64(found.Log.Size))               //nolint:gosec // only compared
	text = binary.BigEndian.AppendUint64(text, uint64(found.Log.ModTime.UnixNano())) //nolint:gosec // only compared
	sum := sha256.Sum256(text)
	return logKey(sum[:])
}

// knownLogs are the logs of one configuration: those that earlier discoveries have read, and those
// that the current one knows. It is safe for concurrent use.
type knownLogs struct {
	of      *KnownLogs
	config  catalog.ConfigID
	earlier map[logKey]int64

	mu      sync.Mutex
	current map[logKey]int64
}

// begin begins a discovery.
func (k *KnownLogs) begin(config catalog.ConfigID) *knownLogs {
	logs := &knownLogs{of: k, config: config, current: map[logKey]int64{}}
	if k != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		logs.earlier = k.configs[config] // is replaced, never changed
	}
	return logs
}

// version returns the last version of a log that was read and had the given id, if its first file
// is the same.
func (k *knownLogs) version(found storage.FoundTable, id catalog.DeltaID) (version int64, ok bool) {
	version, ok = k.earlier[keyOf(found, id)]
	return version, ok && id != ""
}

// keep remembers the last version of a log.
func (k *knownLogs) keep(found storage.FoundTable, id catalog.DeltaID, version int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.current) < maxKnownLogs {
		k.current[keyOf(found, id)] = version
	}
}

// end makes the logs of the discovery those that are remembered. Other configurations are
// forgotten if there are too many logs.
func (k *knownLogs) end() {
	all := k.of
	if all == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.total += len(k.current) - len(all.configs[k.config])
	all.configs[k.config] = k.current
	for config, logs := range all.configs {
		if all.total <= maxKnownLogs {
			return
		}
		if config != k.config {
			all.total -= len(logs)
			delete(all.configs, config)
		}
	}
}
