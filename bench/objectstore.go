package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// storeRegion and storeBucket are the region and the bucket, or container, of every object
// store of a run.
const (
	storeRegion = "eu-central-1"
	storeBucket = "bench"
)

// The kinds of object stores, as in a storage configuration.
const (
	storeS3    = "s3"
	storeAzure = "azure"
	storeGCS   = "gcs"
)

// storeProgram is a kind of object store: how its server is started, and how others
// connect to it. Its credentials are constants, since it listens on loopback and ends with
// the run.
type storeProgram interface {
	// command returns the server's program, its arguments and environment variables.
	command(cfg Config, dir, address string) (program string, args, env []string, err error)
	// url returns the base of the server's requests.
	url(address string) string
	// ready reports whether the server answers requests.
	ready(ctx context.Context, address string) bool
	// settings returns the fields of a storage configuration other than its name and prefix.
	settings(endpoint string) (map[string]any, error)
	// remote returns the settings of rclone's backend.
	remote(endpoint string) map[string]string
}

// objectStore is a server of an object store on loopback with one bucket.
type objectStore struct {
	program  storeProgram
	kind     string
	proc     *child
	dir      string
	proxy    *delayProxy // nil without a delay
	endpoint string      // URL of the server, or of the proxy if there is one
}

// openStore starts the object store of a remote workload with the workload's tables; it
// returns nil for other workloads.
func openStore(ctx context.Context, cfg Config, w Workload) (*objectStore, error) {
	if w.Remote == nil {
		return nil, nil
	}
	s, err := startStore(ctx, cfg, w.Remote.kind())
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx, cfg, w.folder()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if w.Remote.DelayMillis == 0 {
		return s, nil
	}
	s.proxy, err = startDelay(ctx, s.endpoint, time.Duration(w.Remote.DelayMillis)*time.Millisecond)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.endpoint = s.proxy.url
	return s, nil
}

// startStore starts an object store with an empty bucket.
func startStore(ctx context.Context, cfg Config, kind string) (*objectStore, error) {
	dir, err := os.MkdirTemp(cfg.Data, kind+"-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &objectStore{kind: kind, dir: dir}
	if err := s.start(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("start object store %s: %w", kind, err), s.Close())
	}
	return s, nil
}

func (s *objectStore) start(ctx context.Context, cfg Config) error {
	switch s.kind {
	case storeS3:
		s.program = versitygw{}
	case storeAzure:
		s.program = azurite{}
	case storeGCS:
		s.program = &fakeGCS{}
	default:
		return fmt.Errorf("unknown kind %q", s.kind)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	program, args, env, err := s.program.command(cfg, s.dir, address)
	if err != nil {
		return err
	}
	s.endpoint = s.program.url(address)
	env = append(append([]string{}, cfg.Env...), env...)
	if s.proc, err = startChild(program, args, env, filepath.Join(s.dir, "log")); err != nil {
		return err
	}
	if err := s.proc.await(ctx, s.endpoint, func(ctx context.Context) bool { return s.program.ready(ctx, address) }); err != nil {
		return err
	}
	if s.kind == storeS3 { // its buckets are folders
		return os.MkdirAll(s.bucketDir(), 0o755)
	}
	_, err = runRclone(ctx, cfg, []*objectStore{s}, "mkdir", remotePath(0, ""))
	return err
}

// bucketDir is the folder of the bucket of an S3 server.
func (s *objectStore) bucketDir() string {
	return filepath.Join(versitygw{}.buckets(s.dir), storeBucket)
}

// fill puts the files of a data folder into the bucket. Those of an S3 server are hard
// links.
func (s *objectStore) fill(ctx context.Context, cfg Config, folder string) error {
	from := filepath.Join(cfg.Data, folder)
	if s.kind == storeS3 {
		return linkTree(from, filepath.Join(s.bucketDir(), folder))
	}
	_, err := runRclone(ctx, cfg, []*objectStore{s}, "copy", from, remotePath(0, folder))
	return err
}

// config returns the fields of a storage configuration for a folder of the bucket.
func (s *objectStore) config(prefix string) (map[string]any, error) {
	fields, err := s.program.settings(s.endpoint)
	if err != nil {
		return nil, err
	}
	fields["kind"], fields["prefix"] = s.kind, prefix
	return fields, nil
}

// Close ends the server and removes its folder. Closing nil does nothing.
func (s *objectStore) Close() error {
	if s == nil {
		return nil
	}
	var errs []error
	if s.proxy != nil {
		errs = append(errs, s.proxy.Close())
	}
	if s.proc != nil {
		errs = append(errs, s.proc.Stop())
	}
	if c, ok := s.program.(interface{ Close() error }); ok {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// linkTree creates a hard link for every file of a folder.
func linkTree(from, to string) error {
	err := filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rest, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(filepath.Join(to, rest), 0o755)
		}
		return os.Link(name, filepath.Join(to, rest))
	})
	if err != nil {
		return fmt.Errorf("link the tables: %w", err)
	}
	return nil
}
