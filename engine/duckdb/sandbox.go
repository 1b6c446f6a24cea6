package duckdb

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// leaseSettings are what a session may still change after it is locked down: what
// a statement may use, and whether the rows that it writes keep their order.
var leaseSettings = []string{"memory_limit", "threads", "max_temp_directory_size", "preserve_insertion_order"}

// confines are what an instance holds and may reach.
type confines struct {
	extensions []extension
	// roots are directories, real ones.
	roots []string
	// remote is nil for an instance that reads no remote store.
	remote *engine.Remote
	// temp is where it spills.
	temp string
}

// locate resolves location and checks that it lies within reach.
func (c confines) locate(location string) (string, error) {
	if c.remote != nil && isRemote(location) {
		return withinRemote(c.remote.Prefixes, location)
	}
	return within(c.roots, location)
}

// within resolves location and checks that it lies below one of the roots. Links
// are followed first: one inside a root must not lead out of it.
func within(roots []string, location string) (string, error) {
	if checkText(location) != nil || !filepath.IsAbs(location) {
		return "", refusedLocation(location)
	}
	real, err := filepath.EvalSymlinks(location)
	if err != nil {
		class := "io"
		if errors.Is(err, fs.ErrNotExist) {
			class = engine.ClassMissing
		}
		return "", &engine.Error{Kind: engine.KindIO, Class: class, Position: -1, Text: clip(err.Error())}
	}
	for _, root := range roots {
		rel, err := filepath.Rel(root, real)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return real, nil
		}
	}
	return "", refusedLocation(location)
}

func refusedLocation(location string) *engine.Error {
	return internalError("location", "outside of what the session may read: "+strings.ToValidUTF8(location, "?"))
}

// openSandbox opens an instance that reads within c and cannot be configured
// any further.
func openSandbox(c confines) (*instance, error) {
	in, err := openBare()
	if err != nil {
		return nil, err
	}
	return confine(in, c)
}

// openBare opens an instance that is not confined yet. It has read nothing, and all
// of them are alike.
func openBare() (*instance, error) {
	config := baseConfig()
	// The files are those whose signatures were checked at start.
	config["allow_unsigned_extensions"] = "true"
	return openInstance(config)
}

// confine makes a bare instance one of [openSandbox]; after an error it is closed.
func confine(in *instance, c confines) (*instance, error) {
	for _, e := range c.extensions {
		if err := e.unchanged(); err != nil {
			in.close()
			return nil, err
		}
	}
	if err := in.exec(lockdown(c)); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// lockdown is the SQL that turns a fresh instance into a sandbox. Its order
// matters: extensions need file access, and the lock comes last.
func lockdown(c confines) string {
	var sql []string
	for _, e := range c.extensions {
		sql = append(sql, "LOAD "+engine.QuoteString(e.path))
	}
	reach := c.roots
	if c.remote != nil {
		sql = append(sql, remoteLockdown(c.remote)...)
		reach = slices.Concat(c.roots, c.remote.Prefixes)
	}
	sql = append(sql,
		"SET TimeZone='UTC'",
		// Data files never change: their footers are read once.
		"SET parquet_metadata_cache=true",
		// What a plan or the order of groups owes to statistics of a whole file
		// would tell of rows that are hidden.
		"SET disabled_optimizers='statistics_propagation'",
		"SET temp_directory="+engine.QuoteString(c.temp),
		"SET allowed_directories="+quoteList(reach),
		"SET allowed_configs="+quoteList(leaseSettings),
		"SET enable_external_access=false",
		"SET lock_configuration=true",
	)
	return strings.Join(sql, ";\n")
}
