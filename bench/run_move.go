package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Move describes objects that the server and rclone move between object stores.
type Move struct {
	// Objects is their number, Bytes the size of each.
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Routes are the kinds of the stores: "s3" is a move between two folders of one server, and
	// "s3-azure" one between two servers.
	Routes []string `json:"routes"`
	// Transfers is the number of objects that rclone copies at once.
	Transfers int `json:"transfers"`
}

// validate returns an error for a move that cannot be measured.
func (m Move) validate() error {
	if m.Objects < 1 || m.Bytes < 1 || m.Transfers < 1 || len(m.Routes) == 0 {
		return errors.New("a move needs objects, their size, routes, and transfers")
	}
	for _, route := range m.Routes {
		for kind := range strings.SplitSeq(route, "-") {
			if kind != storeS3 && kind != storeAzure && kind != storeGCS {
				return fmt.Errorf("route %s: unknown store %q", route, kind)
			}
		}
	}
	return nil
}

// The folders between which objects are moved: one of each configuration's root.
const (
	moveSource = "source"
	moveTarget = "target"
	moveFolder = "data"
)

// moveStep is the interval at which memory is read during a move.
const moveStep = 20 * time.Millisecond

// moved holds the cost of one move.
type moved struct {
	took  time.Duration
	grown int64 // bytes; of the server
}

// mover moves the objects from the first store to the last one, which can be the same.
type mover struct {
	name string
	run  func(ctx context.Context, stores []*objectStore) (moved, error)
}

// move alternates between the server and rclone on each route. Every move has new stores,
// which are removed after it, so that no more than two copies of the objects exist.
func (r *runner) move(ctx context.Context) error {
	m := *r.workload.Move
	if limit := r.cfg.ObjectBytes; limit > 0 && limit < m.Bytes {
		r.out.note("objects of %.0f MB instead of %.0f MB", megabytes(limit), megabytes(m.Bytes))
		m.Bytes = limit
		r.workload.Move = &m
	}
	dir, err := os.MkdirTemp(r.cfg.Data, "objects-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the originals
	if err := makeObjects(dir, m.Objects, m.Bytes); err != nil {
		return err
	}
	movers := []mover{{peerRclone, r.moveRclone}, {subjectServer, r.moveServer}}
	for _, route := range m.Routes {
		if err := r.moveAlong(ctx, dir, route, movers); err != nil {
			return fmt.Errorf("route %s: %w", route, err)
		}
	}
	return nil
}

// makeObjects creates files of one size. A large one has no content on disk.
func makeObjects(dir string, number int, size int64) error {
	for i := range number {
		file, err := os.Create(filepath.Join(dir, fmt.Sprintf("part-%05d.parquet", i)))
		if err != nil {
			return fmt.Errorf("make an object: %w", err)
		}
		// No two objects have the same content.
		_, err = file.WriteString(strconv.Itoa(i))
		if err := errors.Join(err, file.Truncate(size), file.Close()); err != nil {
			return fmt.Errorf("make an object: %w", err)
		}
	}
	return nil
}

// moveAlong measures one route.
func (r *runner) moveAlong(ctx context.Context, dir, route string, movers []mover) error {
	taken := make([]Samples, len(movers))
	var grown int64
	for round := range r.workload.Warmup + r.workload.Runs {
		for i, mover := range movers {
			r.cfg.Progress("%s: %s, round %d, %s", r.workload.Name, route, round+1, mover.name)
			done, err := r.moveOnce(ctx, dir, route, mover)
			if err != nil {
				return fmt.Errorf("%s: %w", mover.name, err)
			}
			if round >= r.workload.Warmup {
				taken[i] = append(taken[i], done.took.Seconds())
				grown = max(grown, done.grown)
			}
		}
	}
	m := r.workload.Move
	for i, mover := range movers {
		r.out.add("p50."+mover.name+"."+route, taken[i].Median(), "s")
	}
	peer, own := taken[0].Median(), taken[1].Median()
	r.out.Metrics = append(r.out.Metrics,
		Metric{Name: "objects." + route, Value: float64(m.Objects) / own, Unit: "1/s", HigherIsBetter: true},
		Metric{Name: "rate." + route, Value: megabytes(m.Bytes*int64(m.Objects)) / own, Unit: "MB/s", HigherIsBetter: true})
	r.out.addRelative("ratio."+peerRclone+"."+route, peer/own, true)
	r.out.add("rss_growth."+route, megabytes(grown), "MB")
	return nil
}

// moveOnce fills new stores with the objects of a folder, moves them, and checks that all
// of them have arrived and none is left.
func (r *runner) moveOnce(ctx context.Context, dir, route string, mover mover) (done moved, err error) {
	var stores []*objectStore
	defer func() {
		for _, store := range stores {
			err = errors.Join(err, store.Close())
		}
	}()
	for kind := range strings.SplitSeq(route, "-") {
		store, err := startStore(ctx, r.cfg, kind)
		if err != nil {
			return done, err
		}
		stores = append(stores, store)
	}
	from := filepath.Join(moveSource, moveFolder)
	if _, err := runRclone(ctx, r.cfg, stores, "copy", dir, remotePath(0, from), r.workload.Move.transfers()); err != nil {
		return done, err
	}
	if done, err = mover.run(ctx, stores); err != nil {
		return done, err
	}
	left, err := contentsOf(ctx, r.cfg, stores, 0, from)
	if err != nil {
		return done, err
	}
	arrived, err := contentsOf(ctx, r.cfg, stores, len(stores)-1, filepath.Join(moveTarget, moveFolder))
	if err != nil {
		return done, err
	}
	if want := r.workload.Move.contents(); arrived != want || left.Objects > 0 {
		return done, fmt.Errorf("%d objects of %d bytes arrived and %d were left, of %d",
			arrived.Objects, arrived.Bytes, left.Objects, want.Objects)
	}
	return done, nil
}

// contents are the objects that are moved.
func (m Move) contents() contents {
	return contents{Objects: m.Objects, Bytes: int64(m.Objects) * m.Bytes}
}

func (m Move) transfers() string { return "--transfers=" + strconv.Itoa(m.Transfers) }

// moveRclone lets rclone move the objects.
func (r *runner) moveRclone(ctx context.Context, stores []*objectStore) (done moved, err error) {
	start := time.Now()
	_, err = runRclone(ctx, r.cfg, stores, "move", remotePath(0, filepath.Join(moveSource, moveFolder)),
		remotePath(len(stores)-1, filepath.Join(moveTarget, moveFolder)), r.workload.Move.transfers())
	return moved{took: time.Since(start)}, err
}

// moveServer lets the server move the objects between two new configurations, which it
// removes afterwards.
func (r *runner) moveServer(ctx context.Context, stores []*objectStore) (done moved, err error) {
	var ids [2]string
	for i, end := range []struct {
		store *objectStore
		name  string
	}{{stores[0], moveSource}, {stores[len(stores)-1], moveTarget}} {
		settings, err := end.store.config(end.name)
		if err != nil {
			return done, err
		}
		settings["configName"] = end.name
		if ids[i], _, err = r.server.configure(ctx, settings); err != nil {
			return done, err
		}
	}
	if err := r.server.rested(ctx); err != nil {
		return done, err
	}
	before, err := usage(r.server.proc.PID())
	if err != nil {
		return done, err
	}
	var reply struct {
		Objects int   `json:"objectsMoved"`
		Bytes   int64 `json:"bytesTransferred"`
	}
	stop := watch(ctx, r.server.proc.PID(), moveStep)
	start := time.Now()
	err = r.server.admin.async().complete(ctx, "/v1/storages/move", map[string]any{
		"sourceConfigId": ids[0], "sourcePath": moveFolder, "destinationConfigId": ids[1], "destinationPath": moveFolder,
	}, &reply)
	done.took = time.Since(start)
	done.grown = stop() - before.RSS
	if err != nil {
		return done, err
	}
	if want := r.workload.Move.contents(); reply.Objects != want.Objects || reply.Bytes != want.Bytes {
		return done, fmt.Errorf("the server moved %d objects of %d bytes, of %d", reply.Objects, reply.Bytes, want.Objects)
	}
	for _, id := range ids {
		if err := r.server.remove(ctx, id); err != nil {
			return done, err
		}
	}
	return done, nil
}
