package catalog

// WriteKind is the purpose of a write lease.
type WriteKind string

// The kinds of write lease.
const (
	// WriteRows protects the files that a write creates, from the time when it begins.
	WriteRows WriteKind = "rows"
	// WriteRestore protects every file of the table, however old: a restored version
	// refers to files again that no current version needed.
	WriteRestore WriteKind = "restore"
	// WriteVacuum is held by an operation that deletes files. It protects no files.
	WriteVacuum WriteKind = "vacuum"
)

// Valid reports whether k is one of the kinds.
func (k WriteKind) Valid() bool { return k == WriteRows || k == WriteRestore || k == WriteVacuum }

// NewWrite is the input of [WriteLeases.BeginWrite].
type NewWrite struct {
	Org   OrgID
	Table DeltaID
	Kind  WriteKind
	// Holder names the only process that can continue the write, so that the write ends
	// with it; see [WriteLeases.EndWritesOf]. Empty means that requests of a process
	// that has ended may still take effect.
	Holder string
}

// Validate returns nil or [FieldErrors].
func (w NewWrite) Validate() error {
	var e FieldErrors
	e.deltaID("table_id", w.Table)
	if !w.Kind.Valid() {
		e.add("kind", "must be one of rows, restore, vacuum")
	}
	return e.Err()
}
