package stores

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/storage"
)

// Buckets opens storage configurations with the compiled-in providers.
type Buckets struct {
	Metrics *objstore.Metrics
	Roots   LocalRoots
	// FileMode is that of new local files: see [file.Options].
	FileMode fs.FileMode
	// Seen remembers the directories of local configurations by id, as an [fs.FileInfo]. A directory
	// that was replaced by another one is unavailable, because it probably lacks a disk. Nil
	// remembers none.
	Seen *sync.Map
	// Remote is nil in commands that only use local storage.
	Remote *Remote
}

var _ lake.Opener = Buckets{}

// Local returns an opener for local storage and a function that returns the local roots
// of an organisation.
func Local(settings config.Settings, store *authz.Store) (lake.Opener, func(context.Context, catalog.OrgID) ([]string, error)) {
	mode, _ := settings.LocalFileMode() // Verify has checked it
	b := Buckets{Metrics: objstore.NewMetrics(prometheus.NewRegistry()), Roots: NewLocalRoots(settings, store), FileMode: mode}
	return b, b.Roots.For
}

// Bucket implements lake.Opener.
func (b Buckets) Bucket(ctx context.Context, config catalog.StorageConfig) (bucket objstore.Bucket, err error) {
	switch {
	case config.Kind == catalog.KindLocal:
		bucket, err = b.local(ctx, config)
	case b.Remote != nil:
		bucket, err = b.Remote.openRenewed(ctx, config)
	default:
		err = lake.ErrStorageKind
	}
	if err != nil {
		return nil, err
	}
	return objstore.Named(b.Metrics.Wrap(bucket, string(config.Kind)), config.Name), nil
}

// local opens a local root. It resolves the path each time, because a link may have
// been created after the configuration.
func (b Buckets) local(ctx context.Context, config catalog.StorageConfig) (_ objstore.Bucket, err error) {
	path, ok := strings.CutPrefix(string(config.Location), "file://")
	if !ok {
		return nil, lake.ErrStorageKind
	}
	roots := admin.SandboxRoots(b.Roots.sandboxes)
	if !config.Sandbox {
		if roots.Allowed, err = b.Roots.For(ctx, config.Org); err != nil {
			return nil, err
		}
	}
	if path, err = roots.Resolve(path, string(config.Org)); err != nil {
		return nil, err
	}
	bucket, err := file.Open(path, file.Options{Mode: b.FileMode})
	switch {
	case err != nil:
		return nil, err
	case b.Seen == nil:
		return bucket, nil
	}
	before, seen := b.Seen.Load(config.ID)
	switch {
	case !seen && empty(path): // perhaps its disk is not mounted yet
		return bucket, nil
	case !seen:
		before, _ = b.Seen.LoadOrStore(config.ID, bucket.Self())
	}
	if !os.SameFile(before.(fs.FileInfo), bucket.Self()) {
		return nil, fmt.Errorf("%w: root is another directory than before", objstore.ErrUnavailable)
	}
	return bucket, nil
}

// empty reports whether a directory has no entries.
func empty(path string) bool {
	dir, err := os.Open(path)
	if err != nil {
		return false
	}
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// LocalRoots holds the operator's directories for local storage. A directory whose path
// contains {org} serves every organisation, each in a directory of its own. Any other
// serves only the first organisation, even after it was deleted, so that two tenants
// never share a directory by accident.
type LocalRoots struct {
	configured []string
	// sandboxes is the parent of the directories of all sandboxes.
	sandboxes string
	store     catalog.Organisations
}

// NewLocalRoots returns the directories of the settings.
func NewLocalRoots(settings config.Settings, store *authz.Store) LocalRoots {
	return LocalRoots{configured: settings.LocalRoots, sandboxes: settings.SandboxRoot, store: store}
}

// For returns the directories below which an organisation may use local storage.
func (l LocalRoots) For(ctx context.Context, org catalog.OrgID) ([]string, error) {
	first, err := l.store.FirstOrganisation(authz.System(ctx, "local roots"))
	if err != nil {
		return nil, err
	}
	return storage.RootsOf(l.configured, string(org), first == org), nil
}
