// Package bench measures a running server: workloads are data (the JSON files
// of workloads/), a runner executes them, and a report holds medians, ratios
// and the facts of the machine.
//
// It knows the server from outside only: its command line, its HTTP interface,
// and what the operating system says of its processes. It imports no other
// package of Lakewarden. What a log workload loads snapshots with is a program
// that it is given.
//
// What is compared runs interleaved in one go on one machine, so that only
// ratios carry over to another. The peers are plain DuckDB and delta-rs in
// Python processes, and roapi.
package bench
