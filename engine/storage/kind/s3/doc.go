// Package s3 is the kind of storage that speaks the protocol of AWS S3: a bucket of AWS, or
// of another store under its own endpoint, with a static key and optionally a role.
//
// What may not go in it: requests to a store, which are those of engine/objstore/s3.
package s3
