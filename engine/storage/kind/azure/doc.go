// Package azure is the kind of storage of Azure Blob Storage: a container of an account,
// with an access key, a shared access signature, a service principal or the managed
// identity of the server.
//
// What may not go in it: requests to a store, which are those of engine/objstore/azure.
//
// Invariants:
//   - A configuration has exactly one mode of authentication.
//   - The server's own identity opens only containers that the operator has named.
package azure
