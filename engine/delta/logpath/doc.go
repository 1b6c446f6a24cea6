// Package logpath parses and constructs the names of objects in a Delta table's folder:
// the files of `_delta_log` and their versions, and the data files that actions refer
// to.
//
// It does not access a store. It is the only package that decodes paths of the log:
// [Decode] accepts only paths inside the table's folder. [Absolute] only splits an
// absolute path, because the store decides whether it is inside the folder.
package logpath
