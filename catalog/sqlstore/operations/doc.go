// Package operations stores long-running operations: their state, progress and outcome, and the
// replica that runs each.
//
// What may not go in it: rules about records (package catalog has them), authorisation
// (catalog/authz), and the work of an operation.
//
// Invariants:
//   - Only the runner of an operation changes its state while it lives.
//   - An operation that has ended is not changed.
package operations
