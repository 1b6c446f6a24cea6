// Package bench measures a running server: workloads are data (the JSON files of
// workloads/), a runner executes them, and a report holds medians, ratios and a
// description of the machine.
//
// It knows the server only from outside: its command line, its HTTP interface, and
// the operating system's statistics of its processes. It imports no other package
// of Lakewarden; the program that loads snapshots for log workloads is a setting.
//
// Compared subjects run interleaved on one machine, so only ratios are comparable
// across machines. The peers are plain DuckDB, delta-rs and splink in Python processes,
// roapi and rclone.
//
// Workloads of analyses judge answers by what is known of generated tables. Their
// generators, in data/planted, share no list and no import with package engine/analysis.
package bench
