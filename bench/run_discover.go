package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"
)

// Discovery describes a bucket of an S3 server whose tables the server discovers.
type Discovery struct {
	// Folders is the number of folders below the root, each of which is a small table.
	Folders int `json:"folders"`
}

// discoveredPrefix is the root of the discovered configuration.
const discoveredPrefix = "lake"

// discoverStep is the interval at which memory is read during a discovery.
const discoverStep = 20 * time.Millisecond

// discover measures the first discovery of many folders, which registers all of them, and
// later ones, which find nothing new.
func (r *runner) discover(ctx context.Context) (err error) {
	store, err := startStore(ctx, r.cfg, storeS3)
	if err != nil {
		return err
	}
	defer func() {
		if closed := store.Close(); err == nil {
			err = closed
		}
	}()
	settings, err := store.config(discoveredPrefix)
	if err != nil {
		return err
	}
	settings["configName"] = discoveredPrefix
	config, _, err := r.server.configure(ctx, settings)
	if err != nil {
		return err
	}
	folders := r.workload.Discovery.Folders
	r.cfg.Progress("%s: %d folders", r.workload.Name, folders)
	if err := makeTables(ctx, filepath.Join(store.bucketDir(), discoveredPrefix), folders); err != nil {
		return err
	}
	r.out.add("folders", float64(folders), "")
	if err := r.discoverRuns(ctx, config, "first", 1); err != nil {
		return err
	}
	return r.discoverRuns(ctx, config, "again", r.workload.Runs)
}

// discoverRuns reports the median time of some discoveries, and the largest growth of the
// server's memory.
func (r *runner) discoverRuns(ctx context.Context, config, name string, runs int) error {
	var taken Samples
	var grown int64
	for range runs {
		if err := r.server.rested(ctx); err != nil {
			return err
		}
		before, err := usage(r.server.proc.PID())
		if err != nil {
			return err
		}
		var reply struct {
			Found     int  `json:"tablesFound"`
			Truncated bool `json:"truncated"`
		}
		stop := watch(ctx, r.server.proc.PID(), discoverStep)
		start := time.Now()
		err = r.server.admin.async().complete(ctx, "/v1/storages/configs/"+config+"/discover", map[string]any{}, &reply)
		taken = append(taken, time.Since(start).Seconds())
		grown = max(grown, stop()-before.RSS)
		if err != nil {
			return fmt.Errorf("%s discovery: %w", name, err)
		}
		// An incomplete result invalidates the measurement.
		if reply.Found != r.workload.Discovery.Folders || reply.Truncated {
			return fmt.Errorf("%s discovery: %d tables of %d", name, reply.Found, r.workload.Discovery.Folders)
		}
	}
	r.out.add("p50."+name, taken.Median(), "s")
	r.out.add("rss_growth."+name, megabytes(grown), "MB")
	return nil
}

// firstCommit is the log of an empty table.
const firstCommit = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":%q,"format":{"provider":"parquet","options":{}},"schemaString":` +
	`"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}",` +
	`"partitionColumns":[],"configuration":{},"createdTime":0}}
`

// makeTables creates empty tables below a folder.
func makeTables(ctx context.Context, dir string, number int) error {
	for i := range number {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		log := filepath.Join(dir, fmt.Sprintf("table-%06d", i), "_delta_log")
		if err := os.MkdirAll(log, 0o755); err != nil {
			return fmt.Errorf("make a table: %w", err)
		}
		text := fmt.Appendf(nil, firstCommit, uuid.NewString())
		if err := os.WriteFile(filepath.Join(log, "00000000000000000000.json"), text, 0o600); err != nil {
			return fmt.Errorf("make a table: %w", err)
		}
	}
	return nil
}
