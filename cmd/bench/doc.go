// Command bench measures a Lakewarden binary against plain DuckDB and roapi,
// and compares two reports. It is flags around package bench, and the program that
// loads snapshots for it.
package main
