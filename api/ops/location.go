package ops

import (
	"path/filepath"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// localRoot returns the directory of a local configuration.
func localRoot(config catalog.StorageConfig) (string, bool) {
	path, ok := strings.CutPrefix(string(config.Location), "file://")
	return filepath.Clean(path), ok
}

// remoteBucket returns the name of a remote configuration in sessions.
func remoteBucket(id catalog.ConfigID) string { return "cfg-" + string(id) }

// RemoteConfig returns the configuration that a bucket name in a session's root names.
func RemoteConfig(bucket string) (catalog.ConfigID, error) {
	return catalog.ParseID[catalog.ConfigID](strings.TrimPrefix(bucket, "cfg-"))
}

// sessionRoot returns the root of a session that reads the tables of a configuration.
func sessionRoot(config catalog.StorageConfig) string {
	if root, ok := localRoot(config); ok {
		return root
	}
	return gateway.Root(remoteBucket(config.ID))
}

// sourceOf names a version of a table for the engine.
func sourceOf(t catalog.LocatedTable, snap *delta.Snapshot) engine.Source {
	location := strings.TrimSuffix(sessionRoot(t.StorageConfig)+t.Path, "/")
	if root, ok := localRoot(t.StorageConfig); ok {
		location = filepath.Join(root, filepath.FromSlash(t.Path))
	}
	return engine.Source{Location: location, Version: snap.Version(), Incarnation: snap.Incarnation()}
}

// wholeSource is sourceOf as a list of all files, if the table can be read as one.
func wholeSource(t catalog.LocatedTable, snap *delta.Snapshot) engine.Source {
	source := sourceOf(t, snap)
	if files, ok := pruning.List(snap, columnsOf(snap), engine.Condition{}); ok {
		source.Files = files
	}
	return source
}
