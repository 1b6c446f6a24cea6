// Package gcs stores objects in a bucket of Google Cloud Storage, or of another store with its JSON
// API under its own endpoint.
//
// It is the only importer of the SDK. Below the SDK is the transport of objstore/remote, which
// records what the SDK does not report: whether a request left this machine and which status came
// back. The outcome of a write is derived from that, as in objstore/s3. Objects are read and listed
// without the SDK, whose reader and iterator send requests without a bound.
//
// Conditional creation is one upload with ifGenerationMatch=0, which is never sent again after it
// may have taken effect. A large body is a resumable upload, which is invisible until its last
// request. The service ends uploads that were never finished after a week and does not list them, so
// that a Bucket is no objstore.UploadLister.
//
// Credentials come from the caller only: no environment, no shared files, no instance metadata, no
// proxy settings.
//
// The package does not know tables, configurations or which endpoints are allowed; the caller
// restricts endpoints with Options.Dial, which also opens the connections to the token URI of a key.
//
// Invariants: those of objstore/remote, and
//   - Requests go to the endpoint's host only, whatever the store or the environment says.
//   - A bucket that does not exist is unavailable, never empty.
package gcs
