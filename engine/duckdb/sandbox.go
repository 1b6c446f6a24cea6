package duckdb

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// leaseSettings are what a session may still change after it is locked down.
var leaseSettings = []string{"memory_limit", "threads", "max_temp_directory_size"}

// openSandbox opens an instance that reads below roots, spills to temp, and
// cannot be configured any further. It holds the given extensions.
func openSandbox(extensions []extension, roots []string, temp string) (*instance, error) {
	config := baseConfig()
	// The files are those whose signatures were checked at start.
	config["allow_unsigned_extensions"] = "true"
	for _, e := range extensions {
		if err := e.unchanged(); err != nil {
			return nil, err
		}
	}
	in, err := openInstance(config)
	if err != nil {
		return nil, err
	}
	if err := in.exec(lockdown(extensions, roots, temp)); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// lockdown is the SQL that turns a fresh instance into a sandbox. Its order
// matters: extensions need file access, and the lock comes last.
func lockdown(extensions []extension, roots []string, temp string) string {
	var sql []string
	for _, e := range extensions {
		sql = append(sql, "LOAD "+engine.QuoteString(e.path))
	}
	sql = append(sql,
		"SET TimeZone='UTC'",
		// Data files never change: their footers are read once.
		"SET parquet_metadata_cache=true",
		// What a plan or the order of groups owes to statistics of a whole file
		// would tell of rows that are hidden.
		"SET disabled_optimizers='statistics_propagation'",
		"SET temp_directory="+engine.QuoteString(temp),
		"SET allowed_directories="+quoteList(roots),
		"SET allowed_configs="+quoteList(leaseSettings),
		"SET enable_external_access=false",
		"SET lock_configuration=true",
	)
	return strings.Join(sql, ";\n")
}

func quoteList(items []string) string {
	quoted := make([]string, len(items))
	for i, item := range items {
		quoted[i] = engine.QuoteString(item)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
