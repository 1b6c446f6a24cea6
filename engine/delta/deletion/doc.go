// Package deletion holds the sets of rows that are gone from a data file
// although the file still has them, and the three forms in which the log
// stores such sets (protocol, "Deletion Vectors").
//
// It turns bytes into [Rows] and back. Where bytes come from, which file they
// belong to and what a commit says about them belong to the caller. It knows no
// object store.
//
// Invariants:
//   - [Rows] are immutable and safe for concurrent use.
//   - Damaged or hostile bytes are an error, never a panic and never another
//     set; what decoding allocates is a small multiple of the bytes given, how
//     many rows they claim to hold notwithstanding.
//   - Only files inside the table's folder are named.
package deletion
