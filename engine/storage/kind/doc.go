// Package kind is the contract between the service and a kind of remote object storage,
// such as S3. A [Kind] reads the settings and the credential of a storage configuration,
// checks them without contacting the store, and opens its root. Each kind is a package
// below this one, over a provider of engine/objstore, and one line of wiring.
//
// The package also holds what the kinds share: errors of fields ([FieldErrors]), the
// reading of JSON documents ([Decode], [DecodeStrict]), the check of an endpoint
// ([CheckURL], [Host]), and a cache of open roots ([Clients]).
//
// What may not go in it: the catalog, encryption, HTTP, and the SDK of a store.
//
// Invariants:
//   - The names of fields are those of requests, so that an error can name the field that
//     a client sent.
//   - No error contains a value of a credential. A credential prints as "redacted".
//   - Equal roots have equal locations, however a configuration spells them.
package kind
