package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Requests describes GET requests that arrive at a fixed rate, each with one of many keys.
type Requests struct {
	// Path is what is requested; "{org}" stands for the organisation.
	Path        string `json:"path"`
	Keys        int    `json:"keys"`
	PerSecond   int    `json:"per_second"`
	Seconds     int    `json:"seconds"` // of each round
	Connections int    `json:"connections"`
}

// requests measures requests from their scheduled time on, whether or not the server was
// ready for them. The server's own times and its statements come from its metrics.
func (r *runner) requests(ctx context.Context) error {
	load := *r.workload.Requests
	texts, err := r.requestTexts(ctx, load)
	if err != nil {
		return err
	}
	// The first request with a key looks it up.
	if err := r.eachOnce(ctx, load, texts); err != nil {
		return fmt.Errorf("first requests: %w", err)
	}
	var taken Samples
	var rates Samples
	var before figures
	var cpu time.Duration
	for round := range r.workload.Warmup + r.workload.Runs {
		if round == r.workload.Warmup {
			if before, err = r.figures(ctx); err != nil {
				return err
			}
			cpu = ownCPUOf(r.server.proc.PID())
		}
		samples, rate, err := r.arrive(ctx, load, texts)
		if err != nil {
			return err
		}
		if round >= r.workload.Warmup {
			taken, rates = append(taken, samples...), append(rates, rate)
		}
	}
	cpu = ownCPUOf(r.server.proc.PID()) - cpu
	after, err := r.figures(ctx)
	if err != nil {
		return err
	}
	number := float64(len(taken))
	r.out.Metrics = append(r.out.Metrics, Metric{Name: "rate", Value: rates.Median(), Unit: "1/s", HigherIsBetter: true})
	r.out.add("p50", taken.Median(), "ms")
	r.out.add("p99", taken.Quantile(0.99), "ms")
	r.out.add("server.p50", 1000*after.quantile(before, 0.5), "ms")
	r.out.add("server.cpu", millis(cpu)/number, "ms")
	r.out.add("statements", (after.alone-before.alone)/number, "")
	r.out.add("statements.written", (after.inside-before.inside)/number, "")
	return nil
}

// requestTexts creates keys and returns a request with each of them.
func (r *runner) requestTexts(ctx context.Context, load Requests) ([][]byte, error) {
	path := strings.ReplaceAll(load.Path, "{org}", r.server.organisation)
	texts := make([][]byte, load.Keys)
	for i := range texts {
		var made struct {
			Key string `json:"key"`
		}
		if err := r.server.admin.call(ctx, http.MethodPost, "/v1/api-keys", map[string]any{"name": fmt.Sprint("load ", i)}, &made); err != nil {
			return nil, err
		}
		texts[i] = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", path, made.Key)
	}
	return texts, nil
}

// eachOnce sends every request once.
func (r *runner) eachOnce(ctx context.Context, load Requests, texts [][]byte) error {
	return r.connected(ctx, load.Connections, func(c *wire, i int) error {
		for j := i; j < len(texts); j += load.Connections {
			if err := c.get(texts[j]); err != nil {
				return err
			}
		}
		return nil
	})
}

// arrive sends requests on schedule. It returns the times from their scheduled to their
// actual end, and the rate that was achieved.
func (r *runner) arrive(ctx context.Context, load Requests, texts [][]byte) (taken Samples, rate float64, err error) {
	taken = make(Samples, load.PerSecond*load.Seconds)
	interval := time.Second / time.Duration(load.PerSecond)
	var next atomic.Int64
	begun := time.Now()
	err = r.connected(ctx, load.Connections, func(c *wire, i int) error {
		random := rand.New(rand.NewPCG(r.workload.Seed, uint64(i)))
		for {
			n := int(next.Add(1)) - 1
			if n >= len(taken) || ctx.Err() != nil {
				return ctx.Err()
			}
			due := begun.Add(time.Duration(n) * interval)
			if err := pause(ctx, time.Until(due)); err != nil {
				return err
			}
			if err := c.get(texts[random.IntN(len(texts))]); err != nil {
				return err
			}
			taken[n] = millis(time.Since(due))
		}
	})
	return taken, float64(len(taken)) / time.Since(begun).Seconds(), err
}

// connected runs f on connections of its own, at once.
func (r *runner) connected(ctx context.Context, connections int, f func(c *wire, i int) error) error {
	failures := make([]error, connections)
	var group sync.WaitGroup
	for i := range failures {
		group.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimPrefix(r.server.base, "http://"))
			if err != nil {
				failures[i] = err
				return
			}
			defer func() { _ = conn.Close() }()
			failures[i] = f(&wire{conn, bufio.NewReader(conn)}, i)
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// wire is a connection that uses less processor time than a client of net/http, so that
// the load leaves the processors to the server.
type wire struct {
	conn   net.Conn
	reader *bufio.Reader
}

// get sends a request and reads the response, whose status must be 200.
func (c *wire) get(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return statusError(response)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// requestSeconds is the histogram of the server's requests.
const requestSeconds = "lakewarden_http_request_seconds"

// figures are counters of the server's metrics.
type figures struct {
	// buckets maps the upper bound of a duration, in seconds, to the number of requests
	// that took no longer.
	buckets map[float64]float64
	// alone and inside count the catalog's statements outside and inside of transactions.
	alone, inside float64
	// sessions maps the states of sessions to their numbers.
	sessions map[string]float64
}

// figures reads the server's metrics.
func (r *runner) figures(ctx context.Context) (figures, error) {
	f := figures{buckets: map[float64]float64{}, sessions: map[string]float64{}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server.base+"/metrics", http.NoBody)
	if err != nil {
		return f, err
	}
	response, err := r.server.admin.http.Do(request)
	if err != nil {
		return f, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		sample, text, _ := strings.Cut(lines.Text(), "} ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue // a comment, or a metric without labels
		}
		name, labels, _ := strings.Cut(sample, "{")
		switch name {
		case requestSeconds + "_bucket":
			_, bound, _ := strings.Cut(labels, `le="`)
			bound, _, _ = strings.Cut(bound, `"`)
			le, err := strconv.ParseFloat(bound, 64)
			if err != nil {
				return f, fmt.Errorf("bound of a bucket: %w", err)
			}
			f.buckets[le] += value
		case "lakewarden_sessions":
			_, state, _ := strings.Cut(labels, `state="`)
			f.sessions[strings.TrimSuffix(state, `"`)] = value
		case "lakewarden_catalog_statements_total":
			if strings.Contains(labels, `"no"`) {
				f.alone = value
			} else {
				f.inside = value
			}
		}
	}
	return f, lines.Err()
}

// quantile estimates a quantile, in seconds, of the requests since before, linearly
// within a bucket.
func (f figures) quantile(before figures, q float64) float64 {
	total := f.buckets[math.Inf(1)] - before.buckets[math.Inf(1)]
	low, below := 0.0, 0.0
	bounds := make([]float64, 0, len(f.buckets))
	for bound := range f.buckets {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	for _, bound := range bounds {
		count := f.buckets[bound] - before.buckets[bound]
		if count >= q*total && count > below {
			return low + (bound-low)*(q*total-below)/(count-below)
		}
		low, below = bound, count
	}
	return math.NaN()
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
