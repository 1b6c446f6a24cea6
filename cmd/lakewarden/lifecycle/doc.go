// Package lifecycle runs the background work of a server and closes its parts in order.
//
// What may not go in it: any part. It knows contexts and functions only.
//
// Invariants:
//   - Parts are closed in the reverse order of their construction.
//   - Background work has ended before the parts that were constructed before it are closed.
package lifecycle
