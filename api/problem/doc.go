// Package problem turns errors into what a client sees: a status, a stable code, a fixed
// message and the invalid fields, as the same body of four members, or as that of OAuth at
// the endpoints of the authorization server. No other package does.
//
// What may not go in it: authorisation, SQL, logging, and texts of the engine, a store or
// a driver.
//
// Invariants:
//   - Every code is in [Codes]. Every exported sentinel of a domain package has a row in
//     the table of this package or a reason why it needs none; a test walks the source
//     tree for both.
//   - An unknown error is a 500 without any text about its cause. The access log has the
//     cause, from [Cause], with the request id.
//   - The refusal of a table has its reason in the details ([TableReasons]), and the file
//     that caused it only if the error discloses it to the caller.
//   - details is a list, never null. A 405 and a 413 have no body at all.
//   - A 429 and a 503 always have Retry-After.
//
// A package that cannot be imported here defines what its errors become by small
// interfaces: ProblemCode() string returns a code of the table, FieldProblems()
// iter.Seq2[string, string] yields fields and messages for the client, RetryIn()
// time.Duration returns when to retry.
package problem
