// Package authz wraps a [catalog.Store] one to one and checks every call: who
// is acting, in which organisation, with which scopes and role.
//
// What may not go in it: SQL, HTTP, rules about the shape of records.
//
// Invariants:
//   - No actor in the context means denied, for every method.
//   - A caller never reaches another organisation; it looks as if the record
//     were not there.
//   - What concerns a storage configuration or a table is checked with the
//     caller's scopes in the workspace that owns it; what concerns the
//     organisation (members, policies, keys) with those of the organisation
//     role. A role in a workspace never widens the latter.
//   - Visibility itself is decided by the store; a caller can only look through
//     its own [catalog.Viewer].
//   - The wrapper does not embed the store: a new method does not compile until
//     somebody has written its check.
//
// A check that reads (the workspace of a configuration, the owner of a key)
// runs before the change and outside its transaction. What such a check relies
// on can change in between as it could have a moment later; no change that was
// refused before becomes allowed by it.
package authz
