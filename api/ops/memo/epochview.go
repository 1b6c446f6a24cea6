package memo

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
)

// EpochView reads the catalog for one statement. No answer is older than the view. It is
// not safe for concurrent use.
type EpochView struct {
	epochs catalog.Epochs
	epoch  uint64
}

// NewEpochView returns a view of the catalog at its current epoch.
func NewEpochView(ctx context.Context, epochs catalog.Epochs) (*EpochView, error) {
	epoch, err := epochs.Epoch(ctx)
	return &EpochView{epochs: epochs, epoch: epoch}, err
}

// Epoch returns the epoch of the last answer, or the current one before the first.
func (v *EpochView) Epoch() uint64 { return v.epoch }

// Clone returns a view at the same epoch for another goroutine.
func (v *EpochView) Clone() *EpochView {
	clone := *v
	return &clone
}

// ReadAt returns an answer of the catalog as it was at one epoch, from cache if present.
// cache may be nil. fields are everything on which the answer depends in addition to the
// epoch. ReadAt reads again if the catalog changes meanwhile.
func ReadAt[V any](ctx context.Context, v *EpochView, cache *Cache[V], fields []string, read func() (V, error)) (V, error) {
	var none V
	for {
		if cache != nil {
			if cached, ok := cache.peek(v.key(fields)); ok {
				return cached, nil
			}
		}
		found, err := read()
		if err != nil {
			return none, err
		}
		after, err := v.epochs.Epoch(ctx)
		if err != nil {
			return none, err
		}
		if after == v.epoch {
			if cache != nil {
				cache.put(v.key(fields), found)
			}
			return found, nil
		}
		v.epoch = after
	}
}

func (v *EpochView) key(fields []string) string {
	k := NewDigest()
	k.Numbers(int64(v.epoch))
	k.Text(fields...)
	return k.String()
}
