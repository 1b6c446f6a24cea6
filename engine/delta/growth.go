package delta

// Base returns the version that the transaction started from.
func (t *Txn) Base() *Snapshot { return t.base }

// Growth returns by how many bytes the transaction enlarges the files of the table. It is
// negative if the table gets smaller.
func (t *Txn) Growth() (bytes int64) {
	for _, a := range t.adds {
		bytes += a.Size
	}
	for _, r := range t.removes {
		if r.Size != nil {
			bytes -= *r.Size
		}
	}
	return bytes
}
