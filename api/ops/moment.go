package ops

import (
	"context"
	"crypto/sha256"

	"github.com/lakewarden/lakewarden/catalog"
)

// Memory remembers what the last statements asked the catalog. Everything in it
// is kept under the epoch at which it was read, and under who asked: every change
// of what anybody may see or do raises the epoch in the same transaction, so
// equal epochs mean equal answers. It is safe for concurrent use.
type Memory struct {
	rules  *recent[heldRules]
	reach  *recent[reach]
	tables *recent[[]catalog.Resolved]
	// credentials and visible serve checks of running work.
	credentials *recent[credential]
	visible     *recent[map[catalog.TableID]catalog.DeltaID]
}

// maxRemembered bounds each kind of answer.
const maxRemembered = 1024

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{
		rules: newRecent[heldRules](maxRemembered), reach: newRecent[reach](maxRemembered),
		tables:      newRecent[[]catalog.Resolved](maxRemembered),
		credentials: newRecent[credential](maxRemembered), visible: newRecent[map[catalog.TableID]catalog.DeltaID](maxRemembered),
	}
}

// moment is the catalog at the time of one statement: no answer is older than
// its beginning. It is not safe for concurrent use.
type moment struct {
	epochs catalog.Epochs
	epoch  uint64
}

func newMoment(ctx context.Context, epochs catalog.Epochs) (*moment, error) {
	epoch, err := epochs.Epoch(ctx)
	return &moment{epochs: epochs, epoch: epoch}, err
}

// answer reads something as it was at one epoch, or recalls it from kept, which
// can be nil. fields are all that the answer depends on beside the epoch. A
// change of the catalog while it is read leads to another reading.
func answer[V any](ctx context.Context, m *moment, kept *recent[V], fields []string, read func() (V, error)) (V, error) {
	var none V
	for {
		if kept != nil {
			if known, ok := kept.peek(m.key(fields)); ok {
				return known, nil
			}
		}
		found, err := read()
		if err != nil {
			return none, err
		}
		after, err := m.epochs.Epoch(ctx)
		if err != nil {
			return none, err
		}
		if after == m.epoch {
			if kept != nil {
				kept.put(m.key(fields), found)
			}
			return found, nil
		}
		m.epoch = after
	}
}

func (m *moment) key(fields []string) string {
	k := key{sha256.New()}
	k.numbers(int64(m.epoch))
	k.text(fields...)
	return k.sum()
}

// viewerFields are what visibility depends on.
func viewerFields(v catalog.Viewer) []string {
	limited, everything := "", ""
	if v.Limited {
		limited = "limited"
	}
	if v.Everything {
		everything = "everything"
	}
	return []string{string(v.Org), string(v.User), limited, string(v.Workspace), everything}
}
