package skipping

import "github.com/lakewarden/lakewarden/engine/delta"

// errMisread is why a table is not read through its log although its schema and
// protocol allow it.
var errMisread = &delta.FeatureError{Feature: "partition values in a form of their own", Reason: "the engine's reader of logs misreads them"}

// checkLog refuses a table that the engine cannot read through its log, whatever the
// partition values are. A damaged checkpoint has the engine fail, or read fewer files.
func checkLog(snap *delta.Snapshot) error {
	if err := delta.CheckScannable(snap); err != nil {
		return err
	}
	return snap.Damage()
}

// checkPartitions checks the files of a table that is not listed: a partition value
// that cannot be read closes it, and so does one that the engine's reader of logs
// misreads. Types that have no partition values are left to that reader.
func checkPartitions(snap *delta.Snapshot) error {
	reader := snap.PartitionReader()
	if len(reader.Columns()) == 0 || !reader.Knows() {
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
