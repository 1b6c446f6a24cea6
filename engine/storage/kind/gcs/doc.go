// Package gcs is the kind of storage of Google Cloud Storage: a bucket, with the key of a
// service account.
//
// What may not go in it: requests to a store, which are those of engine/objstore/gcs.
//
// Invariant: every address inside a key is checked before the key is used.
package gcs
