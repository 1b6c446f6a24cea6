// Package objstore is the contract between Lakewarden and an object store.
//
// A [Bucket] is a flat space of objects under slash-separated names. Commits of Delta tables depend
// on one operation, [Bucket.PutIfAbsent], and on its three distinct outcomes: created, lost,
// unknown.
//
// Providers are subpackages (mem, file, …), each the only importer of its SDK. Every provider and
// every wrapper passes the suite in objstoretest. This package holds what they share: the errors,
// the rule of names ([ValidName]), the arithmetic of ranges ([Range]), bodies of exact length
// ([Exactly]); and the wrappers that work over any Bucket: [Prefix], [Metrics], [Renew] and, for
// tests, [Faults]. Abilities that only some stores have are interfaces of their own, such as [Copier]
// and [Summer].
//
// Nothing that knows a table, a log or a user belongs here. The package imports no other Lakewarden
// package.
//
// Invariants:
//   - A name that [ValidName] refuses never reaches a store.
//   - No wrapper turns an unknown outcome into a known one.
//   - Error texts contain the operation and the object name, never a credential, an absolute path
//     or a store's own message.
package objstore
