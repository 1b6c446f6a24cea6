// Command bench measures a Lakewarden binary against plain DuckDB and roapi,
// and compares two reports. It provides the flags of package bench, and loads
// snapshots for it in processes of their own.
package main
