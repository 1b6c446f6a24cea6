package pruning

import "github.com/lakewarden/lakewarden/engine/delta"

// errMisread is the reason why a table whose schema and protocol allow it is not read
// through its log.
var errMisread = &delta.FeatureError{Feature: "partition values in an unusual form", Reason: "the engine's reader of logs misreads them"}

// checkLog refuses a table that the engine cannot read through its log for a reason other
// than its partition values. At a damaged checkpoint the engine fails or reads fewer files.
func checkLog(snap *delta.Snapshot) error {
	if err := delta.CheckScannable(snap); err != nil {
		return err
	}
	return snap.Damage()
}

// checkPartitions checks the files of a table that cannot be read as a list. It refuses a
// partition value that cannot be read, and one that the engine's reader of logs misreads.
// A table with a partition column of an unsupported type passes, because
// [delta.CheckScannable] refuses it.
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
