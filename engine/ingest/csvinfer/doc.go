// Package csvinfer decides the dialect of a CSV file and the types of its columns, so that a
// table can be made for the file and loaded with it.
//
// A file is spooled once, decompressed, and then read to its end with the reader of
// package csvbody, which also loads it. An engine proposes a dialect from the beginning of
// the file, by SQL of this package; the package itself runs none.
//
// Invariants:
//   - A type holds every value of its column unchanged, under the options that are
//     returned.
//   - The number of rows is that of a load with these options. A file without problems
//     can be loaded.
//   - A guess that leaves lines out of a load, or takes values for NULL, is reported as a problem.
//   - Memory is bounded, whatever the length of the file and the number of distinct
//     values.
package csvinfer
