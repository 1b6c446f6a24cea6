package bench

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

//go:embed data/maintained.py
var maintainedScript string

// Maintenance describes the work of a maintain workload.
type Maintenance struct {
	// Operation is compact, zorder or vacuum, which is a dry run.
	Operation string `json:"operation"`
	// Table is lineitem, in Files small files, or orphans: a small table with Files
	// old files that no version names.
	Table string `json:"table"`
	Files int    `json:"files"`
}

// body returns the path and body of the request.
func (m Maintenance) body() (path string, body map[string]any) {
	switch m.Operation {
	case "compact":
		return "optimize", map[string]any{}
	case "zorder":
		return "optimize", map[string]any{"zorder_by": []string{"l_partkey", "l_suppkey"}}
	}
	return "vacuum", map[string]any{"dry_run": true}
}

// maintained holds the costs and the result of one run.
type maintained struct {
	Seconds float64 `json:"seconds"`
	Added   int64   `json:"added"`
	Removed int64   `json:"removed"`
	Grown   int64   `json:"grown"`
	// CPU is the processor time of all processes, in seconds.
	CPU float64 `json:"cpu"`
}

// maintain alternates between the server and delta-rs, which do the same work on
// copies of one table. Memory is the growth of the server's processes at their
// peak, and that of the peer's fresh process.
func (r *runner) maintain(ctx context.Context) error {
	m := *r.workload.Maintenance
	template := filepath.Join(r.cfg.Data, "maintained", m.Table+"-"+strconv.Itoa(m.Files))
	if err := script(ctx, r.cfg, maintainedScript, "make", template, m.Table, strconv.Itoa(m.Files),
		filepath.Join(r.cfg.Data, folderTPCH, "lineitem")); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(r.cfg.Data, "copies-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // copies
	subjects := []struct {
		name string
		run  func(ctx context.Context, root string, m Maintenance) (maintained, error)
	}{{subjectServer, r.maintainServer}, {peerDeltaRS, r.maintainPeer}}
	taken, grown, worked := make([]Samples, len(subjects)), make([]Samples, len(subjects)), make([]Samples, len(subjects))
	for round := range r.workload.Warmup + r.workload.Runs {
		r.cfg.Progress("%s: round %d", r.workload.Name, round+1)
		for i, s := range subjects {
			root := filepath.Join(dir, fmt.Sprintf("%s-%d", s.name, round))
			if err := script(ctx, r.cfg, maintainedScript, "copy", template, filepath.Join(root, "t")); err != nil {
				return err
			}
			done, err := s.run(ctx, root, m)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			// An incomplete result invalidates the measurement.
			if done.Removed != int64(m.Files) {
				return fmt.Errorf("%s: %d files of %d", s.name, done.Removed, m.Files)
			}
			if err := os.RemoveAll(root); err != nil {
				return err
			}
			if round >= r.workload.Warmup {
				taken[i] = append(taken[i], 1000*done.Seconds)
				grown[i] = append(grown[i], megabytes(done.Grown))
				worked[i] = append(worked[i], 1000*done.CPU)
			}
		}
	}
	for i, s := range subjects {
		r.out.add("p50."+s.name, taken[i].Median(), "ms")
		r.out.add("memory."+s.name, grown[i].Median(), "MB")
		r.out.add("cpu."+s.name, worked[i].Median(), "ms")
	}
	r.out.addRelative("ratio."+peerDeltaRS, taken[0].Median()/taken[1].Median(), false)
	r.out.addRelative("memory_ratio."+peerDeltaRS, grown[0].Median()/grown[1].Median(), false)
	// More meaningful than the time if other work shares the machine.
	r.out.addRelative("cpu_ratio."+peerDeltaRS, worked[0].Median()/worked[1].Median(), false)
	return nil
}

// maintainServer lets the server maintain the table below a folder.
func (r *runner) maintainServer(ctx context.Context, root string, m Maintenance) (maintained, error) {
	relative, err := filepath.Rel(r.cfg.Data, root)
	if err != nil {
		return maintained{}, err
	}
	schema, err := r.server.storage(ctx, relative)
	if err != nil {
		return maintained{}, err
	}
	before, err := usage(r.server.proc.PID())
	if err != nil {
		return maintained{}, err
	}
	path, body := m.body()
	stop := watch(ctx, r.server.proc.PID(), 10*time.Millisecond)
	start := time.Now()
	var reply maintenanceReply
	err = r.server.admin.complete(ctx, "/v1/tables/lake/"+schema+"/t/"+path, body, &reply)
	took := time.Since(start)
	peak := stop()
	if err != nil {
		return maintained{}, err
	}
	after, err := usage(r.server.proc.PID())
	return maintained{CPU: (after.CPU - before.CPU).Seconds(), Seconds: took.Seconds(), Added: reply.FilesAdded,
		Removed: reply.FilesRemoved + reply.Count, Grown: peak - before.RSS}, err
}

// maintenanceReply is the result of completed work.
type maintenanceReply struct {
	FilesAdded   int64 `json:"filesAdded"`
	FilesRemoved int64 `json:"filesRemoved"`
	Count        int64 `json:"count"`
}

// maintainPeer lets delta-rs do the work in a separate process.
func (r *runner) maintainPeer(ctx context.Context, root string, m Maintenance) (done maintained, err error) {
	err = r.runPython(ctx, &done, maintainedScript, "run", filepath.Join(root, "t"), m.Operation)
	return done, err
}
