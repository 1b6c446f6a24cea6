// Package secret encrypts the credentials of storage configurations, which the catalog
// stores but must never show.
//
// It uses envelope encryption: each secret has its own data key, which is encrypted by
// the key-encryption key of a [Keyring]. The key-encryption key is in a file outside
// the catalog, so that a copy of the database alone reveals no secret.
//
// The keys for hashing masked values ([MaskKeys]) come from the same file. They are
// derived for each table and not stored.
//
// Every ciphertext is bound to its owner ([Binding]). It does not open after it was
// copied to another organisation, configuration or field.
//
// Queries, policies and the secrets of people (passwords and API keys, which are
// hashed) do not belong here.
//
// Invariants:
//   - No error contains a secret, a key, or a part of either.
//   - A key file is created whole or not at all, once, readable by its owner only.
//   - A key is never removed. A rotation adds one, which is then used for sealing.
package secret
