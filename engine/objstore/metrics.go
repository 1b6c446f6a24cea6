package objstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics counts and times the requests of buckets. One value serves a process;
// its collectors are registered once.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

// NewMetrics registers the collectors; with a nil registerer they stay unregistered. It panics if
// they are registered already, which is a programming error.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	auto := promauto.With(reg)
	return &Metrics{
		requests: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "lakewarden_objstore_requests_total",
			Help: "Requests to object stores by kind of store, operation and outcome. Outcomes ok, missing and exists are expected.",
		}, []string{"store", "op", "outcome"}),
		seconds: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lakewarden_objstore_request_seconds",
			Help: "Time until a request to an object store was answered; of a read until it was open, of a listing without the time of its " +
				"consumer.",
			Buckets: []float64{.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5, 10, 60},
		}, []string{"store", "op"}),
	}
}

// Wrap measures bucket. store is the kind of store ("file", "s3"), never the name of one, because
// the number of labels must be bounded.
func (m *Metrics) Wrap(bucket Bucket, store string) Bucket {
	return &measured{inner: bucket, store: store, metrics: m}
}

type measured struct {
	inner   Bucket
	store   string
	metrics *Metrics
}

var (
	_ Bucket       = (*measured)(nil)
	_ UploadLister = (*measured)(nil)
)

func (b *measured) done(op Op, took time.Duration, err error) {
	b.metrics.requests.WithLabelValues(b.store, string(op), outcome(err)).Inc()
	b.metrics.seconds.WithLabelValues(b.store, string(op)).Observe(took.Seconds())
}

// outcome returns the label of an error. A miss and a lost race are answers of a healthy store, so
// their labels differ from those of failures.
func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ErrNotFound):
		return "missing"
	case errors.Is(err, ErrExists):
		return "exists"
	case errors.Is(err, ErrUnknown):
		return "unknown"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled"
	case errors.Is(err, ErrDenied):
		return "denied"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	case errors.Is(err, ErrInvalidName), errors.Is(err, ErrSize):
		return "invalid"
	}
	return "error"
}

// Get implements Bucket.
func (b *measured) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	start := time.Now()
	body, err := b.inner.Get(ctx, name)
	b.done(OpGet, time.Since(start), err)
	return body, err
}

// GetRange implements Bucket.
func (b *measured) GetRange(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error) {
	start := time.Now()
	body, err := b.inner.GetRange(ctx, name, offset, length)
	b.done(OpGetRange, time.Since(start), err)
	return body, err
}

// Stat implements Bucket.
func (b *measured) Stat(ctx context.Context, name string) (Object, error) {
	start := time.Now()
	object, err := b.inner.Stat(ctx, name)
	b.done(OpStat, time.Since(start), err)
	return object, err
}

// List implements Bucket.
func (b *measured) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error] {
	return measuredList(b, OpList, b.inner.List(ctx, prefix, opts))
}

// Uploads implements UploadLister.
func (b *measured) Uploads(ctx context.Context, prefix string) iter.Seq2[Upload, error] {
	return func(yield func(Upload, error) bool) {
		for upload, err := range measuredList(b, OpUploads, Uploads(ctx, b.inner, prefix)) {
			discard := upload.Discard
			upload.Discard = func(ctx context.Context) error {
				start := time.Now()
				err := discard(ctx)
				b.done(OpDiscard, time.Since(start), err)
				return err
			}
			if !yield(upload, err) {
				return
			}
		}
	}
}

// measuredList measures the time of a listing without its consumer's.
func measuredList[T any](b *measured, op Op, list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var (
			took  time.Duration
			last  error
			start = time.Now()
		)
		defer func() { b.done(op, took, last) }()
		for found, err := range list {
			took += time.Since(start)
			last = err
			if !yield(found, err) {
				return
			}
			start = time.Now()
		}
		took += time.Since(start)
	}
}

// Put implements Bucket.
func (b *measured) Put(ctx context.Context, name string, body io.Reader, size int64) error {
	start := time.Now()
	err := b.inner.Put(ctx, name, body, size)
	b.done(OpPut, time.Since(start), err)
	return err
}

// PutIfAbsent implements Bucket.
func (b *measured) PutIfAbsent(ctx context.Context, name string, body []byte) error {
	start := time.Now()
	err := b.inner.PutIfAbsent(ctx, name, body)
	b.done(OpPutIfAbsent, time.Since(start), err)
	return err
}

// Delete implements Bucket.
func (b *measured) Delete(ctx context.Context, name string) error {
	start := time.Now()
	err := b.inner.Delete(ctx, name)
	b.done(OpDelete, time.Since(start), err)
	return err
}
