package bench

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Bodies describes request bodies of one length. The first one is valid and is the
// base of the comparison.
type Bodies struct {
	Size int `json:"size"`
	// Burst is the number of equal bodies sent in a row for one sample, because the
	// processor's clock is too coarse for one.
	Burst  int    `json:"burst"`
	Shapes []Body `json:"shapes"`
}

// Body describes a body: Begin, as many Items as fit, with Separator between them,
// as many times Close, and End. "%x" in Item is replaced by the item's number.
type Body struct {
	Name string `json:"name"`
	// Path defaults to /v1/query; "$table" is a table of the columns id and name.
	Path string `json:"path"`
	// Media defaults to JSON.
	Media     string `json:"media"`
	Begin     string `json:"begin"`
	Item      string `json:"item"`
	Separator string `json:"separator"`
	Close     string `json:"close"`
	End       string `json:"end"`
}

// Text returns the body, of at most size bytes.
func (b Body) Text(size int) []byte {
	var text strings.Builder
	text.WriteString(b.Begin)
	closed := 0
	for ; ; closed++ {
		item := strings.ReplaceAll(b.Item, "%x", strconv.FormatInt(int64(closed), 16))
		if closed > 0 {
			item = b.Separator + item
		}
		if text.Len()+len(item)+(closed+1)*len(b.Close)+len(b.End) > size {
			break
		}
		text.WriteString(item)
	}
	text.WriteString(strings.Repeat(b.Close, closed))
	text.WriteString(b.End)
	return []byte(text.String())
}

// bodyCost holds the costs of, and the answers to, the bodies of one shape.
type bodyCost struct {
	status     int
	cpu, wall  Samples // of one body, ms
	rss        Samples // growth of the process during a burst, in MB
	rssHighest int64
}

// bodies sends the shapes in turn and measures the server's own process, without
// engine processes.
func (r *runner) bodies(ctx context.Context) error {
	work := *r.workload.Bodies
	err := r.server.admin.call(ctx, http.MethodPost, "/v1/tables", map[string]any{
		"catalog": "lake", "schema": r.schema, "name": "t",
		"columns": []any{map[string]any{"name": "id", "type": "long"}, map[string]any{"name": "name", "type": "string"}},
	}, nil)
	if err != nil {
		return err
	}
	var valid bodyCost
	if err := r.burst(ctx, work.Shapes[0], &valid); err != nil {
		return err
	}
	if valid.status != http.StatusOK {
		return fmt.Errorf("%s: answered %d", work.Shapes[0].Name, valid.status)
	}
	if err := r.server.rested(ctx); err != nil {
		return err
	}
	base, _ := memoryOf(r.server.proc.PID())
	costs := make([]bodyCost, len(work.Shapes))
	for round := range r.workload.Warmup + r.workload.Runs {
		r.cfg.Progress("%s: round %d", r.workload.Name, round+1)
		for i, shape := range work.Shapes {
			if round == r.workload.Warmup { // memory is measured from the first counted body
				costs[i] = bodyCost{rssHighest: costs[i].rssHighest}
			}
			if err := r.burst(ctx, shape, &costs[i]); err != nil {
				return fmt.Errorf("%s: %w", shape.Name, err)
			}
		}
	}
	r.reportBodies(costs, base)
	return nil
}

// burst sends a body several times and adds a sample to its cost.
func (r *runner) burst(ctx context.Context, shape Body, cost *bodyCost) error {
	text := shape.Text(r.workload.Bodies.Size)
	path := strings.ReplaceAll(shape.Path, "$table", "/v1/tables/lake/"+r.schema+"/t")
	pid, times := r.server.proc.PID(), r.workload.Bodies.Burst
	if err := resetPeak(pid); err != nil {
		return err
	}
	before, _ := memoryOf(pid)
	cpu := ownCPUOf(pid)
	for range times {
		status, elapsed, err := r.server.admin.status(ctx, cmp.Or(path, "/v1/query"), cmp.Or(shape.Media, mediaJSON), text)
		if err != nil {
			return err
		}
		if status == http.StatusTooManyRequests || status >= 500 {
			return fmt.Errorf("answered %d", status)
		}
		cost.status, cost.wall = status, append(cost.wall, millis(elapsed))
	}
	cost.cpu = append(cost.cpu, millis(ownCPUOf(pid)-cpu)/float64(times))
	_, peak := memoryOf(pid)
	cost.rss = append(cost.rss, megabytes(peak-before))
	cost.rssHighest = max(cost.rssHighest, peak)
	return nil
}

// reportBodies reports each shape, and the worst of the invalid ones.
func (r *runner) reportBodies(costs []bodyCost, base int64) {
	var cpu, wall, rss float64
	highest := costs[0].rssHighest
	r.out.Subjects = []string{"processor", "elapsed"}
	for i, cost := range costs {
		name := r.workload.Bodies.Shapes[i].Name
		r.out.Lines = append(r.out.Lines, Line{Statement: name, Millis: []float64{cost.cpu.Median(), cost.wall.Median()}})
		r.out.note("%s: status %d, %s MB", name, cost.status, number(cost.rss.Median()))
		if i > 0 {
			cpu, rss, highest = max(cpu, cost.cpu.Median()), max(rss, cost.rss.Median()), max(highest, cost.rssHighest)
		}
		if cost.status >= http.StatusBadRequest { // valid ones wait for the engine
			wall = max(wall, cost.wall.Median())
		}
	}
	r.out.add("cpu.valid", costs[0].cpu.Median(), "ms")
	r.out.add("p50.valid", costs[0].wall.Median(), "ms")
	r.out.add("rss.valid", costs[0].rss.Median(), "MB")
	r.out.add("cpu.worst", cpu, "ms")
	r.out.add("p50.refused", wall, "ms")
	r.out.add("rss.worst", rss, "MB")
	r.out.add("rss_growth", megabytes(highest-base), "MB")
	least := millis(clockTick) / float64(r.workload.Bodies.Burst)
	r.out.addRelative("ratio.cpu", max(cpu, least)/max(costs[0].cpu.Median(), least), false)
}
