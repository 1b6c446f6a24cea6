// Package mirrortest gives tests a bucket of Azure Blob Storage or of Google Cloud Storage whose
// objects are also files of a folder, as the buckets of s3test are. Tests that write and read tables
// as files so run over these stores, too.
//
// The servers are those of azuretest and gcstest. A proxy in front of each copies changed files into
// the bucket before it forwards a request, and an object that a request changed into the folder before
// it forwards the reply. So a client of the proxy sees every file that was written before its request,
// and the folder has every object whose write was acknowledged. Objects have the times of their files, which
// tests set, although these stores do not let clients set them.
//
// What may not go in it: faults. The packages of the stores test them without a mirror.
//
// Invariants:
//   - One writer at a time changes an object: what a file and an object that change at once become is
//     unspecified.
//   - A file that is rewritten within one tick of the clock of the file system, with the same size, may
//     be taken for unchanged.
//
// For tests only.
package mirrortest
