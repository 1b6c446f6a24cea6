package catalog

// WriteKind is what a write lease is for.
type WriteKind string

// The kinds of write lease.
const (
	// WriteRows protects the files that a write makes, from when it begins.
	WriteRows WriteKind = "rows"
	// WriteRestore protects every file of the table, however old: a version that is
	// restored names files again that no version needed.
	WriteRestore WriteKind = "restore"
	// WriteVacuum is held by who deletes files. It protects none.
	WriteVacuum WriteKind = "vacuum"
)

// Valid reports whether k is one of the kinds.
func (k WriteKind) Valid() bool { return k == WriteRows || k == WriteRestore || k == WriteVacuum }

// NewWrite is a write that begins.
type NewWrite struct {
	Org   OrgID
	Table DeltaID
	Kind  WriteKind
	// Holder names who alone can go on with the write, so that its end is the
	// write's; see [WriteLeases.EndWritesOf]. Empty means that requests of a holder
	// that is gone may still take effect.
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
