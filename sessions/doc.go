// Package sessions provides engine sessions to callers and limits their memory with one
// budget.
//
// A caller acquires a [Held] for one statement and releases it. A held session belongs
// to one [Key]: an organisation, a user and the set of roots that are currently visible
// to that user. It is never reused for another key, so the state of a session (attached
// tables, filtered copies) cannot cross users, and a change of visibility leads to
// another session.
//
// What may not go in it: SQL, policies, HTTP. The package uses an engine only through
// its contract.
//
// Invariants:
//   - The memory of all leases, including those of lingering sessions, never exceeds
//     the budget. When a lease is granted, neither does the sum of all leases and
//     [Options.Overhead], unless the lease is the only one.
//   - Turns alternate among waiting organisations, and within an organisation among
//     its waiting users. Statements of one user are served in order of arrival. A
//     user who holds at least half of the organisation's share gets a turn only if
//     every other waiting user of the organisation does too. A failed or cancelled
//     wait takes nothing.
//   - While others wait, the statements of a user whose clients read slowly hold at most a
//     quarter of what the organisation may hold, or are one.
//   - A session is held by at most one statement. A broken session is closed and
//     never reused.
//   - A session that may have read deleted files ([Pool.Empty]), or is old, serves no further
//     statement.
//   - An idle user has no cost: unused sessions are closed.
package sessions
