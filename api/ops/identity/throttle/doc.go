// Package throttle counts what people who are not known can cause: wrong passwords,
// e-mails and refused links. It delays those who guess, limits e-mails and audit entries,
// and never refuses a right password because of guesses from elsewhere.
//
// What may not go in it: what a counted event means, and the store.
//
// Invariants:
//   - Memory is bounded, however many names and addresses a flood has.
//   - A flood of other names lowers no count.
//   - Each replica counts by itself.
package throttle
