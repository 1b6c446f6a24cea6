package lake

import (
	"path/filepath"
	"strings"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// LocalRoot returns the directory of a local configuration.
func LocalRoot(config catalog.StorageConfig) (string, bool) {
	path, ok := strings.CutPrefix(string(config.Location), "file://")
	return filepath.Clean(path), ok
}

// remoteBucket returns the name of a remote configuration in sessions.
func remoteBucket(id catalog.ConfigID) string { return "cfg-" + string(id) }

// RemoteConfig returns the configuration that a bucket name in a session's root names.
func RemoteConfig(bucket string) (catalog.ConfigID, error) {
	return catalog.ParseID[catalog.ConfigID](strings.TrimPrefix(bucket, "cfg-"))
}

// SessionRoot returns the root of a session that reads the tables of a configuration.
func SessionRoot(config catalog.StorageConfig) string {
	if root, ok := LocalRoot(config); ok {
		return root
	}
	return gateway.Root(remoteBucket(config.ID))
}

// Source names a version of a table for the engine.
func Source(t catalog.LocatedTable, snap *delta.Snapshot) engine.Source {
	location := strings.TrimSuffix(SessionRoot(t.StorageConfig)+t.Path, "/")
	if root, ok := LocalRoot(t.StorageConfig); ok {
		location = filepath.Join(root, filepath.FromSlash(t.Path))
	}
	return engine.Source{Location: location, Version: snap.Version(), Identity: snap.Identity()}
}

// WholeSource is Source as a list of all files, if the table can be read as one.
func WholeSource(t catalog.LocatedTable, snap *delta.Snapshot) engine.Source {
	source := Source(t, snap)
	if files, ok := pruning.List(snap, Columns(snap), engine.Condition{}); ok {
		source.Files = files
	} else {
		source.Checked = pruning.CheckedFiles(snap, Columns(snap))
	}
	return source
}
