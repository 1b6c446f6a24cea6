// Package s3 stores objects in a bucket of AWS S3, or of another store with the S3 protocol under
// its own endpoint.
//
// It is the only importer of the SDK's client. Below the SDK is the package's own transport, which
// records what the SDK does not report: whether a request left this machine and which status came
// back. The outcome of a write is derived from that, not from the SDK's errors: refused (nothing
// was written), done, or unknown.
//
// A write that may have taken effect is never sent again if a second reply would hide the first:
// PutIfAbsent retries only if the store requests it (409). Plain puts, deletes and reads are
// retried a few times, but not after a timeout, so that a store that hangs does not block its
// caller several times as long. A read whose connection breaks continues where it was, with the
// same content.
//
// Credentials come from the caller only: no environment, no shared files, no instance metadata, no
// proxy settings.
//
// The package does not know tables, configurations or which endpoints are allowed; the caller
// restricts endpoints with Options.Dial.
//
// Invariants:
//   - Every wait for the network ends with the context or with Limits.
//   - Redirects are not followed, so that a signed request reaches no other host.
//   - No error text contains a credential, an address or the store's own message.
//   - A bucket that does not exist is unavailable, never empty: tables must not look deleted
//     because a bucket does not exist.
package s3
