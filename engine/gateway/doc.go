// Package gateway is a read-only endpoint of the S3 protocol on loopback, through which DuckDB
// reads every remote store. DuckDB gets a key that is made for one session and opens nothing but
// that session's prefixes; the credentials of the stores stay in objstore providers, in this
// process.
//
// The endpoint supports three operations (ListObjectsV2, HeadObject, GetObject with a range),
// path-style addresses and signatures in the Authorization header. Between it and the stores is one
// cache, in memory and on disk, of blocks of write-once objects: data files, deletion vectors,
// commits and checkpoints.
//
// The package does not know what a table is, who may see it and what DuckDB does with the bytes,
// and it does not write to stores.
//
// Invariants:
//   - A request is served only for a live key with a valid signature, while a statement of its
//     session runs, and below one of that key's prefixes. The check uses the name that will be
//     read, decoded once, and precedes any access to the cache.
//   - No request, and no read from a store, continues after every statement that needed it has
//     ended.
//   - A response is complete or visibly broken: if a store returns fewer or more bytes than it
//     announced, the connection is broken and nothing is cached.
//   - A failure of a store is answered with 400, because clients retry a 5xx or 429 for seconds;
//     the actual failure is [Grant.Cause].
//   - A connection that was used for a log or a listing serves no further request: see
//     [ReadsRemoteLog].
//   - Blocks on disk are encrypted with a key that is in memory only.
//   - After [Gateway.Forget] no read that began before it fills the cache.
//   - Names and texts of a store are in no error response and in no log line.
//
// The key of a block consists of the identity of a configuration, a name, a size and a time of last
// change. A listing always comes from the store. It also updates the cache about objects that were
// replaced under the same name, such as the log of a table that was dropped and created again.
// Blocks of objects that their store was not asked about for most of an hour are dropped, because
// other programs delete objects, too.
//
// Sessions set http_retries = 1: httpfs retries every error, including a 400, at once the first
// time and then with growing pauses, half a second in total by default.
//
// Clients must connect to 127.0.0.1 directly. The gateway itself uses no proxy setting, but DuckDB
// and its Delta kernel do: with HTTP_PROXY in their environment and without NO_PROXY=127.0.0.1 they
// send these requests, signed but not encrypted, to the proxy.
package gateway
