// Package harness runs the whole server for the end-to-end tests in the packages next
// to it. It holds what more than one of them uses: the start of servers and of the
// program, requests and replies, tables, policies, stores and processes.
//
// What may not go in it: assertions about one feature, and helpers of a single package.
//
// Invariants:
//   - A server listens on loopback only, has a data directory of its own, and ends
//     with its test.
//   - No helper changes the environment, so that tests can run in parallel.
package harness
