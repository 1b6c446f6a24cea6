// Package clientdocument reads the documents by which OAuth clients describe themselves: the id of
// such a client is the https URL of its document (draft-ietf-oauth-client-id-metadata-document).
//
// What may not go in it: the choice of addresses that may be reached, which the given client makes,
// the limits of people, and the rules of names, redirect URIs and scopes, which package catalog has.
//
// Anybody can publish a document, so neither it nor its server is trusted. Invariants:
//   - A document names the URL that it was read from, byte for byte.
//   - Redirects are not followed, and the time and the size of a reply are bounded.
//   - Errors are not cached.
package clientdocument
