// Package secret encrypts the secrets that the catalog stores but must never show:
// credentials of storage configurations, client secrets, delegated tokens, signing keys.
//
// It uses envelope encryption: each secret has its own data key, which is encrypted by
// the key-encryption key of a [Keyring]. The key-encryption key is in a file outside
// the catalog ([File]), so that a copy of the database alone reveals no secret. The file
// may be encrypted by a [KeyService].
//
// The keys for hashing masked values ([Keyring.MaskKey]) come from a root in the same
// file. They are derived for each table and not stored.
//
// Every ciphertext is bound to its owner ([Binding]). It does not open after it was
// copied to another organisation, kind or record.
//
// Queries, policies and the secrets of people (passwords and API keys, which are
// hashed) do not belong here.
//
// Invariants:
//   - No error contains a secret, a key, or a part of either.
//   - A key file is created whole or not at all, once, readable by its owner only.
//   - A rotation adds a key. Only a [Reseal] removes keys, once no stored secret needs
//     them. The root of mask keys never changes.
//   - Only kinds of [catalog.SealedKinds] can be sealed, so that a reseal finds them all.
package secret
