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

// The credentials of a run's S3 server, which listens on loopback and ends with the
// run.
const (
	s3Region = "eu-central-1"
	s3Bucket = "bench"
	s3KeyID  = "bench"
	s3Secret = "bench-secret"
)

// objectStore is an S3 server on loopback with one bucket, whose objects are the
// files of a data folder.
type objectStore struct {
	proc     *child
	dir      string
	proxy    *delayProxy // nil without a delay
	endpoint string      // URL of the server, or of the proxy if there is one
}

// openStore starts the object store of a remote workload; it returns nil for other
// workloads.
func openStore(ctx context.Context, cfg Config, w Workload) (*objectStore, error) {
	if w.Remote == nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp(cfg.Data, "s3-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	s := &objectStore{dir: dir}
	if err := s.start(ctx, cfg, w.folder()); err != nil {
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

func (s *objectStore) start(ctx context.Context, cfg Config, folder string) error {
	buckets, users := filepath.Join(s.dir, "buckets"), filepath.Join(s.dir, "iam")
	if err := os.Mkdir(users, 0o700); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := linkTree(filepath.Join(cfg.Data, folder), filepath.Join(buckets, s3Bucket, folder)); err != nil {
		return err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	s.endpoint = "http://" + address
	const health = "/health"
	// Files that the server did not write have an ETag only with --default-etag. They
	// never change.
	args := []string{
		"--port", address, "--quiet", "--keep-alive", "--iam-dir", users, "--health", health,
		"posix", "--default-etag", "unchanged", buckets,
	}
	env := append(append([]string{}, cfg.Env...), "ROOT_ACCESS_KEY="+s3KeyID, "ROOT_SECRET_KEY="+s3Secret, "VGW_REGION="+s3Region)
	if s.proc, err = startChild(cfg.Versitygw, args, env, filepath.Join(s.dir, "log")); err != nil {
		return err
	}
	return s.proc.awaitHTTP(ctx, s.endpoint+health)
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
