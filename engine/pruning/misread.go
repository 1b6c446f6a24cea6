package pruning

import "github.com/lakewarden/lakewarden/engine/delta"

// errMisread is the reason why a table is not read through its log although its schema and protocol
// allow it.
var errMisread = &delta.FeatureError{Feature: "partition values in an unusual form", Reason: "the engine's reader of logs misreads them"}

// checkLog refuses a table that the engine cannot read through its log for a reason other than its
// partition values. If a checkpoint is damaged, the engine fails or reads fewer files.
func checkLog(snap *delta.Snapshot) error {
	if err := delta.CheckScannable(snap); err != nil {
		return err
	}
	return snap.Damage()
}

// checkPartitions checks the files of a table that cannot be read as a list. It refuses invalid
// partition values, and those that the engine's log reader misreads. A table with a partition
// column of an unsupported type passes, because [delta.CheckScannable] refuses it.
func checkPartitions(snap *delta.Snapshot) error {
	reader := snap.PartitionReader()
	if len(reader.Columns()) == 0 || !reader.Supported() {
		return nil
	}
	var values []*string
	for f := range snap.Files() {
		var scannable bool
		var err error
		if values, scannable, err = reader.Read(f, values[:0]); err != nil {
			return err
		}
		if !scannable {
			return errMisread
		}
	}
	return nil
}
