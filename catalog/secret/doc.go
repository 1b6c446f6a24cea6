// Package secret encrypts what the catalog stores but must never show: the
// credentials of storage configurations.
//
// It is envelope encryption: each secret has a data key of its own, which is
// encrypted by the key-encryption key of a [Keyring]. That one lies in a file
// beside the catalog, not in it, so that a copy of the database alone opens
// nothing. Another holder of key-encryption keys can take its place without a
// secret being written anew but once.
//
// From the same file come the keys under which masked values are hashed
// ([MaskKeys]): they are derived for each table, not stored.
//
// Every ciphertext is bound to where it belongs ([Binding]): one that was
// copied to another organisation, configuration or field does not open.
//
// Queries, policies and the secrets of people (passwords, API keys: those are
// hashed) do not belong here.
//
// Invariants:
//   - No error holds a secret, a key, or a part of either.
//   - A key file is created whole or not at all, once, readable by its owner.
//   - A key is never removed: rotation adds one and makes it the first choice.
package secret
