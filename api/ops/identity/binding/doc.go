// Package binding holds the use cases by which subjects of identity providers are bound to members:
// by an administrator, and by the members themselves.
//
// What may not go in it: sign-ins and tokens, which package identity and auth/jwt have, and the
// decision which user a subject is, which the catalog makes for both.
//
// Invariants:
//   - A member confirms with a session of their own, in the browser that has proved the subject, or
//     with a token of the subject. A link or a name alone confirms nothing.
//   - A session by the single sign-on of another organisation confirms nothing: its provider
//     decides who signs in there. Neither does one whose own subject is not bound.
package binding
