// Package gateway is a read-only endpoint of the S3 protocol on loopback,
// through which DuckDB reads every remote store. DuckDB gets a key that was made
// for one session and opens nothing but that session's prefixes; the credentials
// of the stores stay in objstore providers, in this process.
//
// It knows three operations (ListObjectsV2, HeadObject, GetObject with a range),
// path-style addresses and signatures in the Authorization header. Between them
// and the stores lies one cache of blocks, in memory and on disk, of those
// objects that are written once: data files, deletion vectors, commits,
// checkpoints.
//
// What a table is, who may see it and what DuckDB does with the bytes does not
// belong here; writing to stores does not either.
//
// Invariants:
//   - A request is answered only for a live key with a valid signature, while a
//     statement of its session runs, and below one of that key's prefixes. This
//     is decided on the name that is read, after it was decoded once, and before
//     the cache is looked at.
//   - No request, and no read from a store, goes on when every statement that
//     wanted it has ended.
//   - An answer is complete or visibly broken: a store that returns fewer or more
//     bytes than it announced breaks the connection and leaves nothing behind in
//     the cache.
//   - A failing store is answered with 400, because clients repeat a 5xx or 429
//     for seconds; what really happened is [Grant.Cause].
//   - Neither names nor texts of a store reach an answer or a log line.
//
// Blocks belong to an identity of a configuration, a name, a size and a time of
// last change. A listing always comes from the store and tells the cache of
// objects that were replaced under their old name, as happens to the log of a
// table that was dropped and made anew.
//
// Sessions set http_retries = 1: httpfs repeats every error, a 400 too, at once
// the first time and then with growing pauses, half a second in all by default.
//
// Clients must reach 127.0.0.1 directly. The gateway itself looks at no proxy
// setting, but DuckDB and its Delta kernel do: with HTTP_PROXY in their
// environment and without NO_PROXY=127.0.0.1 they send these requests, signed but
// not encrypted, to the proxy.
package gateway
