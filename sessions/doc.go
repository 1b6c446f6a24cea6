// Package sessions hands out engine sessions to callers and keeps them within
// one budget of memory.
//
// A caller takes a [Held] for one statement and gives it back. A held session
// belongs to one [Key]: an organisation, a user and the set of roots that are
// visible to that user now. It is never passed on to another key, so nothing a
// session remembers (attached tables, filtered copies) can cross users, and a
// change of what a user may see leads to another session.
//
// What may not go in here: SQL, policies, HTTP. The package knows an engine
// only through its contract.
//
// Invariants:
//   - The memory of all leases together, those of lingering sessions included,
//     never exceeds the budget; when a lease is given, neither do they together
//     with what is held beside them, unless it is the only one.
//   - Turns alternate among waiting organisations, and within an organisation among
//     its waiting users. Statements of one user are served in order of arrival.
//     A user who holds at least half of the organisation's share gets a turn only
//     if every other waiting user of the organisation does too. A failed or
//     cancelled wait takes nothing.
//   - A session is held by at most one statement, and a broken session is
//     closed, never handed out again.
//   - An idle user costs nothing: sessions that are not used are closed.
package sessions
