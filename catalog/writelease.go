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

// ValidateWrite returns nil or [FieldErrors] for table and kind of a write lease.
func ValidateWrite(table DeltaID, kind WriteKind) error {
	var e FieldErrors
	e.deltaID("table_id", table)
	if !kind.Valid() {
		e.add("kind", "must be one of rows, restore, vacuum")
	}
	return e.Err()
}
