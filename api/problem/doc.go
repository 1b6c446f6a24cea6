// Package problem is the one place that turns an error of ours into what a
// client sees: a status, a stable code, a message of our own words and the
// fields at fault, always as the same four-member body.
//
// What may not go in it: decisions about who may do what, SQL, logging, and
// text that came from an engine, a store or a driver.
//
// Invariants:
//   - Every code is in [Codes], every exported sentinel of a domain package has
//     a row in the table of this package or a reason why it needs none; a test
//     walks the source tree for both.
//   - An error that nobody recognises is a 500 without a word about its cause.
//     The cause goes to the access log through [Cause], tied to the request id.
//   - The refusal of a table has its reason in the details ([TableReasons]), and the file
//     at fault only if the error discloses it to the caller.
//   - details is a list, never null. A 405 and a 413 have no body at all.
//   - A 429 and a 503 always carry Retry-After.
//
// A package that may not be imported here says what its errors become through
// small interfaces: ProblemCode() string names a code of the table,
// FieldProblems() iter.Seq2[string, string] lists fields and messages fit for
// the client, RetryIn() time.Duration says when to come back.
package problem
