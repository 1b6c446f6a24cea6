// Package remote holds what the providers of stores with an HTTP protocol share: the transport that
// bounds every wait, the outcome of writes, ranges, bodies that continue after a lost connection,
// listings of pages, and cached bearer tokens.
//
// Nothing that knows the protocol of one store belongs here, and no SDK of one.
//
// Invariants:
//   - Every wait for the network ends with the context or with Limits.
//   - Redirects are not followed, so that a signed request reaches no other host.
//   - The outcome of a write is derived from the requests that left this machine and the statuses
//     that came back, never from the text of an SDK's error.
//   - No error text contains a credential, an address or the store's own message.
package remote
