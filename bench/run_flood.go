package bench

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Flood describes clients that together send wrong keys at a fixed rate, so that
// the background load is the same on every machine.
type Flood struct {
	Clients   int `json:"clients"`
	PerSecond int `json:"per_second"`
}

// flood measures statements of one user, alternately alone and during the flood.
func (r *runner) flood(ctx context.Context) error {
	var (
		calm, flooded Samples
		limited       atomic.Int64
		refused       int
	)
	for round := range r.workload.Warmup + r.workload.Runs {
		alone, err := r.admitted(ctx, &refused)
		if err != nil {
			return err
		}
		var together Samples
		var failed error
		err = under(ctx, func(ctx context.Context) { failed = r.wrongKeys(ctx, &limited) }, func(ctx context.Context) (err error) {
			together, err = r.admitted(ctx, &refused)
			return err
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		if round >= r.workload.Warmup {
			calm, flooded = append(calm, alone...), append(flooded, together...)
		}
	}
	r.out.add("limited", float64(limited.Load()), "")
	r.out.add("refused", float64(refused), "")
	r.out.add("p50.calm", calm.Median(), "ms")
	r.out.add("p50.flood", flooded.Median(), "ms")
	r.out.add("p95.calm", calm.Quantile(0.95), "ms")
	r.out.add("p95.flood", flooded.Quantile(0.95), "ms")
	r.out.addRelative("ratio.p50", flooded.Median()/calm.Median(), false)
	return nil
}

// admitted runs the statements of a round, and counts those that are refused
// because of the key or the rate.
func (r *runner) admitted(ctx context.Context, refused *int) (taken Samples, err error) {
	for _, st := range r.statements {
		for range max(1, st.Repeat) {
			answer, _, err := r.user.try(ctx, st)
			status := new(StatusError)
			switch {
			case err == nil:
				taken = append(taken, millis(answer.Total))
			case errors.As(err, &status) && isRefusal(status.Status):
				*refused++
			default:
				return nil, fmt.Errorf("%s: %w", st.Name, err)
			}
		}
	}
	return taken, nil
}

func isRefusal(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusTooManyRequests
}

// wrongKeys sends wrong keys until the context ends, and counts the answers with
// status 429.
func (r *runner) wrongKeys(ctx context.Context, limited *atomic.Int64) error {
	flood := r.workload.Flood
	failures := make([]error, flood.Clients)
	var group sync.WaitGroup
	for i := range failures {
		group.Go(func() {
			stranger := newClient(r.server.base, "")
			defer stranger.http.CloseIdleConnections()
			tick := time.NewTicker(time.Second * time.Duration(flood.Clients) / time.Duration(flood.PerSecond))
			defer tick.Stop()
			for ; ctx.Err() == nil && failures[i] == nil; <-tick.C {
				stranger.header.Set("Authorization", wrongKey(r.user.header.Get("Authorization")))
				status, _, _, err := stranger.statusOnce(ctx, "/v1/query", mediaJSON, []byte(`{}`))
				switch {
				case ctx.Err() != nil:
				case err != nil:
					failures[i] = err
				case !isRefusal(status):
					failures[i] = fmt.Errorf("a wrong key was answered %d", status)
				case status == http.StatusTooManyRequests:
					limited.Add(1)
				}
			}
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// wrongKey returns a well-formed key that does not exist. Half of them begin like
// the valid one.
func wrongKey(valid string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	const scheme, visible = "Bearer ", len("lw_") + 8
	key := fmt.Sprintf("lw_%08d_%032d", rand.IntN(1e8), rand.Uint64())
	if rand.IntN(2) == 0 && len(valid) > len(scheme)+visible {
		key = valid[len(scheme):len(scheme)+visible] + key[visible:]
	}
	sum := crc32.ChecksumIEEE([]byte(key))
	var check [6]byte
	for i := range check {
		check[len(check)-1-i] = digits[sum%uint32(len(digits))]
		sum /= uint32(len(digits))
	}
	return scheme + key + string(check[:])
}
