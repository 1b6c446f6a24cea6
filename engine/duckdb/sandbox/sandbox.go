package sandbox

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// leaseSettings are the settings that a session may change after it is locked down: what a
// statement may use, and whether the rows that it writes keep their order.
var leaseSettings = []string{"memory_limit", "threads", "max_temp_directory_size", "preserve_insertion_order"}

// DisabledOptimizers are the optimizers of the engine that no instance uses. docs/sql.md says
// which statements they answer wrongly.
var DisabledOptimizers = []string{
	// Plans and the order of groups that follow from statistics of a whole file would reveal
	// hidden rows.
	"statistics_propagation",
	// It ignores NULL keys, the arguments' ORDER BY and that its input may be empty.
	"top_n_window_elimination",
	// It takes windows with other partitions for equal, and runs volatile expressions twice.
	"window_self_join",
	// It takes subplans that expose other columns for equal.
	"common_subplan",
	// It takes two comparisons of one outer column for comparisons of two.
	"deliminator",
	// It leaves out rows that TRY_CAST turns to NULL as if they were sorted by their old values.
	"row_group_pruner",
}

// Confines are the extensions of an instance and the places that it may read.
type Confines struct {
	Extensions []extension.File
	// Roots are directories, real ones.
	Roots []string
	// Remote is nil for an instance that reads no remote store.
	Remote *engine.Remote
	// Temp is where it spills.
	Temp string
}

// Locate resolves location and checks that the instance may read it.
func (c Confines) Locate(location string) (string, error) {
	if c.Remote != nil && IsRemote(location) {
		return withinRemote(c.Remote.Prefixes, location)
	}
	return within(c.Roots, location)
}

// within resolves location and checks that it lies below one of the roots. Links
// are followed first: one inside a root must not lead out of it.
func within(roots []string, location string) (string, error) {
	if native.CheckText(location) != nil || !filepath.IsAbs(location) {
		return "", RefusedLocation(location)
	}
	real, err := filepath.EvalSymlinks(location)
	if err != nil {
		class := "io"
		if errors.Is(err, fs.ErrNotExist) {
			class = engine.ClassMissing
		}
		return "", &engine.Error{Kind: engine.KindIO, Class: class, Position: -1, Text: native.Clip(err.Error())}
	}
	for _, root := range roots {
		rel, err := filepath.Rel(root, real)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return real, nil
		}
	}
	return "", RefusedLocation(location)
}

// RefusedLocation returns the error for a location outside of what the session may read.
func RefusedLocation(location string) *engine.Error {
	return native.InternalError("location", "outside of what the session may read: "+strings.ToValidUTF8(location, "?"))
}

// open opens an instance that reads within c and cannot be configured
// any further.
func open(c Confines) (*native.Instance, error) {
	in, err := OpenBare()
	if err != nil {
		return nil, err
	}
	return Confine(in, c)
}

// OpenBare opens an instance that is not confined yet. It has read nothing, and all of them
// are alike.
func OpenBare() (*native.Instance, error) {
	config := native.BaseConfig()
	// The files are those whose signatures were checked at start.
	config["allow_unsigned_extensions"] = "true"
	return native.Open(config)
}

// Confine makes a bare instance one of [open]; after an error it is closed.
func Confine(in *native.Instance, c Confines) (*native.Instance, error) {
	for _, e := range c.Extensions {
		if err := e.Unchanged(); err != nil {
			in.Close()
			return nil, err
		}
	}
	if err := in.Exec(lockdown(c)); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// lockdown returns the SQL that turns a fresh instance into a sandbox. Its order matters:
// extensions need file access, and the lock comes last.
func lockdown(c Confines) string {
	var sql []string
	for _, e := range c.Extensions {
		sql = append(sql, "LOAD "+engine.QuoteString(e.Path))
	}
	reach := c.Roots
	if c.Remote != nil {
		sql = append(sql, remoteLockdown(c.Remote)...)
		reach = slices.Concat(c.Roots, c.Remote.Prefixes)
	}
	sql = append(sql,
		"SET TimeZone='UTC'",
		// Data files never change: their footers are read once.
		"SET parquet_metadata_cache=true",
		"SET disabled_optimizers='"+strings.Join(DisabledOptimizers, ",")+"'",
		"SET temp_directory="+engine.QuoteString(c.Temp),
		"SET allowed_directories="+native.QuoteList(reach),
		"SET allowed_configs="+native.QuoteList(leaseSettings),
		"SET enable_external_access=false",
		"SET lock_configuration=true",
	)
	return strings.Join(sql, ";\n")
}
