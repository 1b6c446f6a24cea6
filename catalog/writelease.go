package catalog

// ValidateWrite returns nil or [FieldErrors] for the table of a write lease.
func ValidateWrite(table DeltaID) error {
	var e FieldErrors
	e.deltaID("table_id", table)
	return e.Err()
}
