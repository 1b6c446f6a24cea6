// Package azure stores objects as block blobs in a container of Azure Blob Storage, or of another
// store with its protocol under its own endpoint.
//
// It is the only importer of the SDK. Below the SDK is the transport of objstore/remote, which
// records what the SDK does not report: whether a request left this machine and which status came
// back. The outcome of a write is derived from that, as in objstore/s3.
//
// Conditional creation is one Put Blob with "If-None-Match: *", which is never sent again after it
// may have taken effect. A large body is sent as blocks, which are invisible until the list of
// blocks is committed. The service removes blocks that were never committed after a week and offers
// no request that removes them earlier, so that a Bucket is no objstore.UploadLister.
//
// Credentials come from the caller only: no environment, no shared files, no instance metadata, no
// proxy settings. The hosts that issue tokens are the caller's, too.
//
// The package does not know tables, configurations or which endpoints are allowed; the caller
// restricts endpoints with Options.Dial.
//
// Invariants: those of objstore/remote, and
//   - Nothing of the SDK's own log is written, whatever the environment says.
//   - A token is sent over TLS only, and always requested for the same resource: no store chooses
//     for what a token is good.
//   - A container that does not exist is unavailable, never empty.
package azure
