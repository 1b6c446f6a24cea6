// Package pruning makes a table's list of data files out of its Delta snapshot
// and leaves out the files that cannot hold a row which a statement needs.
//
// [List] is the whole of it. A file is left out when its partition values or
// its statistics prove that no row of it fulfils an engine.Condition. What is
// not proved stays in: absent, malformed or doubtful statistics cost time, a
// wrong decision would hide rows. In particular
//   - bounds of timestamps count as cut to milliseconds in either direction,
//     which is what other writers do to them;
//   - bounds of decimals with more than 15 digits count as rounded by a passage
//     through float64, which some writers send them on;
//   - a long maximum of a string counts as the beginning of one;
//   - days and instants from calendars that readers may shift have no bounds;
//   - counts of NULL are used where they are nought or all rows, so statistics
//     that are not tight need no case of their own;
//   - floats, binaries and nested columns have no bounds at all. A float or binary as a
//     partition value is only known to be NULL or not.
//
// A table with a partition value that is not of its column's type is refused: see
// [Check]. A table with a partition value that the engine's reader of logs would misread
// is only read as a list.
//
// For a reader who sees only some rows, [ExposureOf] and [ListShielded] use the same
// bounds to find the files in which every row is visible. Bounds that a writer has
// truncated, rounded or omitted prove nothing.
//
// What may not go in: SQL, reading of stores, cgo.
//
// What is parsed is kept with the snapshot: column by column as conditions need
// it, for a few columns, and handed on to the next version, which then parses
// only the files that are new in it. All functions are safe for concurrent use.
package pruning
