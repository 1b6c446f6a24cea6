// Package command is the command line: the commands of the program, their flags and
// their output.
//
// What may not go in it: the construction of the server, which [Program] receives.
//
// Invariants:
//   - Results go to the writer of the call, logs and errors to stderr.
//   - A command that changes the catalog is audited.
package command
