// Package s3 keeps objects in a bucket that speaks the S3 protocol: AWS, or
// another store under an endpoint of its own.
//
// It is the only importer of the SDK's client. Below the SDK lies our own
// transport, which sees what the SDK does not tell: whether a request left this
// machine and what status came back. From that, and not from the SDK's errors,
// a write is judged: refused (nothing was written), done, or unknown.
//
// A write that may have landed is never sent again where a second answer would
// hide the first: PutIfAbsent repeats only what the store itself told us to
// repeat (409). Plain puts, deletes and reads are repeated a few times, but not
// after a timeout: a store that hangs must not hang its caller several times. A
// read whose connection breaks goes on where it was, with the same content.
//
// Credentials are what the caller hands in, nothing else: no environment, no
// shared files, no instance metadata, no proxy settings.
//
// What knows a table, a configuration or which endpoints are allowed does not
// belong here; the latter comes in as Options.Dial.
//
// Invariants:
//   - Every wait for the network ends with the context or with Limits.
//   - Redirects are not followed, so that a signed request reaches no other host.
//   - No error text holds a credential, an address or the store's own message.
//   - A bucket that does not exist is unavailable, never empty: tables must not
//     look deleted because a bucket is not there.
package s3
