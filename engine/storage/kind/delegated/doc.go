// Package delegated is the kind of storage that a member has at a provider and lets the
// server use: a bucket of Google Cloud Storage, or a container of Azure, opened with the
// access tokens of the member who owns the configuration.
//
// What may not go in it: OAuth, which issues the tokens, and requests to a store.
//
// Invariants:
//   - A configuration has no credential of its own. Each use asks for the owner's token, so
//     that a link that ends is noticed within [tokenLife].
//   - Tokens go to the stores of the provider only, whose addresses the operator chooses.
package delegated
