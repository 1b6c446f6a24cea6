package catalog

import (
	"strings"
	"time"
)

// TableState is the state of a registered table.
type TableState string

// The states of a table.
const (
	// TableLive means that the table exists and is readable.
	TableLive TableState = "live"
	// TableVanished means that the last discoveries did not find the table's log. The
	// table keeps its name and becomes live again when it is found.
	TableVanished TableState = "vanished"
	// TableDropped is a tombstone. Discovery ignores it unless requested. Its name is
	// free.
	TableDropped TableState = "dropped"
	// TableIdentityChanged means that another Delta table was found at the location of
	// a governed one. It cannot be read or written until the change is adopted.
	TableIdentityChanged TableState = "identity_changed"
)

// TableStates returns all states.
func TableStates() []TableState {
	return []TableState{TableLive, TableVanished, TableDropped, TableIdentityChanged}
}

// Table is the registration of a Delta table below the root of a storage
// configuration.
type Table struct {
	ID     TableID
	Org    OrgID
	Config ConfigID
	// DeltaID is the metaData.id last found at this location.
	DeltaID DeltaID
	// PreviousDeltaID is the id before the last change of identity, or empty.
	PreviousDeltaID DeltaID
	// Path is the location below the root: segments joined by '/', without a leading or
	// trailing one. Empty means the root itself.
	Path string
	// Name is the SQL name, unique in the configuration regardless of case.
	Name string
	// NameIsCustom reports that a person chose the name. Such a name survives a move.
	NameIsCustom bool
	State        TableState
	Version      int64
	RegisteredAt time.Time
	UpdatedAt    time.Time
	// MissingSince is when a discovery first failed to find the table; zero if the last one found it.
	MissingSince time.Time
}

// LocatedTable is a table with its configuration.
type LocatedTable struct {
	Table
	StorageConfig StorageConfig
}

// FQN returns the fully qualified name lake.cfg_<id>.<name>.
func (t LocatedTable) FQN() string {
	return CatalogName + "." + SchemaName(t.Config) + "." + t.Name
}

// TableName addresses a table in SQL and in URL paths. Schema is cfg_<id> in either
// form, or a slug. Case is ignored.
type TableName struct {
	Schema string
	Table  string
}

// Resolved is the result for one [TableName]. Err is nil, [ErrNotFound] or
// [ErrAmbiguous]. Table is set only if Err is nil. Dropped tables do not resolve.
// Vanished and identity_changed ones do, so that the caller can report their state.
type Resolved struct {
	Table LocatedTable
	Err   error
}

// FoundTable is a Delta log that discovery found below the root.
type FoundTable struct {
	Path    string
	DeltaID DeltaID
	// Governed reports that the id previously registered at this location has rules in
	// addition to policies, such as column domains.
	Governed bool
}

// MaxDiscovered is the maximum number of paths in a [Discovery].
const MaxDiscovered = 1000

// Discovery is the input of [Tables.SyncTables]: a part of what was found below a root.
type Discovery struct {
	Found []FoundTable
	// Missing are paths without a table. A live table that is registered there becomes vanished if
	// it was missing before, for at least VanishAfter.
	Missing     []string
	VanishAfter time.Duration
	// Complete marks the last part of a discovery that has listed the whole root.
	Complete bool
	// IncludeDropped registers tombstones again.
	IncludeDropped bool
}

// Validate returns nil or [FieldErrors].
func (d Discovery) Validate() error {
	var e FieldErrors
	if len(d.Found)+len(d.Missing) > MaxDiscovered {
		e.add("path", "must not be more than %d", MaxDiscovered)
		return e.Err()
	}
	seen := make(map[string]bool, len(d.Found)+len(d.Missing))
	path := func(path string) {
		e.tablePath("path", path)
		if seen[path] {
			e.add("path", "must not be found twice")
		}
		seen[path] = true
	}
	for _, f := range d.Found {
		path(f.Path)
		e.deltaID("table_id", f.DeltaID)
		if len(e) > 0 {
			return e.Err()
		}
	}
	for _, missing := range d.Missing {
		if path(missing); len(e) > 0 {
			break
		}
	}
	return e.Err()
}

// Paths returns every path of the discovery.
func (d Discovery) Paths() []string {
	paths := make([]string, 0, len(d.Found)+len(d.Missing))
	for _, f := range d.Found {
		paths = append(paths, f.Path)
	}
	return append(paths, d.Missing...)
}

// DiscoveryResult reports the changes of a discovery.
type DiscoveryResult struct {
	// Found counts the tables of the input that are registered and not dropped.
	Found int
	// Added holds tables that were not registered, or were dropped, before.
	Added []Table
	// Returned holds tables that were vanished before.
	Returned []Table
	// Vanished holds tables that were live before.
	Vanished []Table
	// Missing counts the live tables that were not found, but have not vanished yet.
	Missing int
	// Changed holds tables whose Delta id changed.
	Changed []Table
}

// NewTable is the input of [Tables.RegisterTable]. An empty Name is derived
// from the path.
type NewTable struct {
	Config  ConfigID
	DeltaID DeltaID
	Path    string
	Name    string
}

// Validate returns nil or [FieldErrors].
func (n NewTable) Validate() error {
	var e FieldErrors
	e.tablePath("path", n.Path)
	e.deltaID("table_id", n.DeltaID)
	if n.Name != "" {
		e.tableName("name", n.Name)
	}
	return e.Err()
}

// TableFilter narrows [Tables.ListTables].
type TableFilter struct {
	// Config selects the tables of one configuration; empty means all visible tables.
	Config ConfigID
	// DeltaID selects the registrations of one table; empty means all.
	DeltaID DeltaID
	// Paths selects tables at some locations below their roots, at most [MaxDiscovered]; empty
	// means all.
	Paths []string
	// States selects tables in one of these states; empty means all but dropped.
	States []TableState
}

func (e *FieldErrors) tablePath(field, path string) {
	if path == "" {
		return
	}
	if len(path) > 1024 || !storableText(path) {
		e.add(field, "must be valid UTF-8 of at most 1024 bytes")
		return
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			e.add(field, "must be relative and must not have empty, '.' or '..' parts")
			return
		}
	}
}

func (e *FieldErrors) deltaID(field string, id DeltaID) {
	if id == "" || len(id) > 256 || !storableText(string(id)) {
		e.add(field, "must be valid UTF-8 of 1 to 256 bytes")
	}
}
