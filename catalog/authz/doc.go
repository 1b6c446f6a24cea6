// Package authz wraps a [catalog.Store] and checks every call: who acts, in which
// organisation, with which scopes and role.
//
// What may not go in it: SQL, HTTP, rules about the shape of records.
//
// Invariants:
//   - Without an actor in the context, every method denies the call.
//   - A caller never reaches another organisation. Its records are reported as not
//     found.
//   - Calls that concern a storage configuration or a table are checked with the
//     caller's scopes in the workspace that owns it. Calls that concern the
//     organisation (members, policies, keys) are checked with the scopes of the
//     organisation role, which a role in a workspace never extends.
//   - The store decides about visibility. A caller can only use its own
//     [catalog.Viewer].
//   - The wrapper does not embed the store, so a new method does not compile without
//     a check.
//
// A check that reads a record (the workspace of a configuration, the owner of a key)
// runs before the change and outside its transaction. The record can change in between,
// as it could right after the change. A refused change never becomes allowed by it.
package authz
