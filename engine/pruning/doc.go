// Package pruning turns a table's Delta snapshot into a list of its data files, without the
// files that cannot hold a row that a statement needs.
//
// [List] is the central function. A file is excluded if its partition values or its statistics
// prove that none of its rows satisfies an engine.Condition. All other files are included:
// absent, malformed or ambiguous statistics cost time, while a wrong decision would hide rows.
// In particular
//   - bounds of timestamps are assumed to be truncated to milliseconds in either direction, as
//     other writers do;
//   - bounds of decimals with more than 15 digits are assumed to be rounded by a conversion to
//     float64, as some writers do;
//   - a long maximum of a string is assumed to be truncated;
//   - days and instants from calendars that readers may shift have no bounds;
//   - counts of NULL are used only if they are zero or the number of rows, so statistics that
//     are not tight need no special case;
//   - floats, binaries and nested columns have no bounds. Of a float or binary as a partition
//     value it is only known whether it is NULL.
//
// A table with a partition value that is not of its column's type is refused: see [Check]. A
// table with a partition value that the engine's log reader would misread is only read as a list.
//
// For a reader who sees only some rows, [ExposureOf] and [ListShielded] use the same bounds to
// find the files in which every row is visible. Bounds that a writer has truncated, rounded or
// omitted prove nothing.
//
// What may not go in it: SQL, reading of stores, cgo.
//
// Parsed values are cached with the snapshot, column by column as conditions need them and for
// a bounded number of columns. The next version takes them over and parses only its new files.
// All functions are safe for concurrent use.
package pruning
