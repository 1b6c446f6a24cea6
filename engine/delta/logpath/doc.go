// Package logpath names things in a Delta table's folder: the files of
// `_delta_log` and their versions, and the data files that actions point at.
//
// It is pure text. It never touches a store, and it is the only place that
// decodes a path of the log: whoever opens a data file has its name from
// [Decode], which lets nothing leave the table's folder. An absolute path is only split
// by [Absolute]: the store knows whether it leads into that folder.
package logpath
