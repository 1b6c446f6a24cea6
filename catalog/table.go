package catalog

import (
	"strings"
	"time"
)

// TableState says what is known about a registered place.
type TableState string

// The states of a table.
const (
	// TableLive: the table is there and answers.
	TableLive TableState = "live"
	// TableVanished: the last discovery did not find its log any more. It
	// keeps its name, and becomes live again when it is found.
	TableVanished TableState = "vanished"
	// TableDropped is a tombstone: discovery leaves it alone unless asked.
	// Its name is free.
	TableDropped TableState = "dropped"
	// TableIdentityChanged: another Delta table lies where a governed one
	// was. Nobody reads or writes it until the change is adopted.
	TableIdentityChanged TableState = "identity_changed"
)

// Table is the registration of a Delta table below the root of a storage
// configuration.
type Table struct {
	ID     TableID
	Org    OrgID
	Config ConfigID
	// DeltaID is the metaData.id last seen at this place.
	DeltaID DeltaID
	// PreviousDeltaID is the id that was seen before the last change of
	// identity, or empty.
	PreviousDeltaID DeltaID
	// Path is the place below the root: segments joined by '/', without one
	// at either end. Empty means the root itself.
	Path string
	// Name is the SQL name, unique in the configuration without regard to
	// case.
	Name string
	// NameIsCustom marks a name that a person chose; it survives a move.
	NameIsCustom bool
	State        TableState
	Version      int64
	RegisteredAt time.Time
	UpdatedAt    time.Time
}

// LocatedTable is a table with the configuration that it lies in.
type LocatedTable struct {
	Table
	StorageConfig StorageConfig
}

// FQN is the fully qualified name lake.cfg_<id>.<name>.
func (t LocatedTable) FQN() string {
	return CatalogName + "." + SchemaName(t.Config) + "." + t.Name
}

// TableName is how SQL and paths address a table. Schema is cfg_<id> in either
// form, or a slug. Case does not matter.
type TableName struct {
	Schema string
	Table  string
}

// Resolved is the answer to one [TableName]. Err is nil, [ErrNotFound] or
// [ErrAmbiguous]; Table is set only when Err is nil. Dropped tables do not
// resolve; vanished and identity_changed ones do, so that the caller can say
// what is wrong with them.
type Resolved struct {
	Table LocatedTable
	Err   error
}

// FoundTable is what discovery sees: a Delta log below the root.
type FoundTable struct {
	Path    string
	DeltaID DeltaID
	// Governed says that the id registered before at this place has rules
	// outside the policies, such as column domains.
	Governed bool
}

// Discovery is the input of [Tables.SyncTables].
type Discovery struct {
	Found []FoundTable
	// Complete says that the whole root was listed: tables that were not
	// found become vanished.
	Complete bool
	// IncludeDropped brings tombstones back to life.
	IncludeDropped bool
}

// Validate returns nil or [FieldErrors].
func (d Discovery) Validate() error {
	var e FieldErrors
	seen := make(map[string]bool, len(d.Found))
	for _, f := range d.Found {
		e.tablePath("path", f.Path)
		e.deltaID("table_id", f.DeltaID)
		if seen[f.Path] {
			e.add("path", "must not be found twice")
		}
		seen[f.Path] = true
		if len(e) > 0 {
			break
		}
	}
	return e.Err()
}

// DiscoveryResult says what a discovery changed.
type DiscoveryResult struct {
	// Found counts the tables of the input that are registered and not
	// dropped.
	Found int
	// Added were not registered, or were dropped, before.
	Added []Table
	// Returned were vanished before.
	Returned []Table
	// Vanished were live before.
	Vanished []Table
	// Changed have another Delta id than before.
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
	// Config keeps the tables of one configuration; empty means all visible
	// ones.
	Config ConfigID
	// DeltaID keeps the places of one table; empty means all.
	DeltaID DeltaID
	// States keeps tables in one of these; empty means all but dropped.
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
