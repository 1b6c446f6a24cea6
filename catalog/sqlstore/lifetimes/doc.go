// Package lifetimes stores which credentials end with which API keys: the table
// credential_bindings.
//
// What may not go in it: the rules about who may make a credential (catalog/authz), and
// statements about one kind of credential only.
//
// Invariants:
//   - A credential is bound to every key by way of which it was made, so one step finds all
//     that ends with a key.
//   - A bound key, session or invitation expires no later than the keys that it is bound to,
//     and is revoked in the transaction that revokes one of them. A client and its secret
//     have no end of their own: it is computed from those keys.
package lifetimes
