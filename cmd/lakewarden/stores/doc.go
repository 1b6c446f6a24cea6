// Package stores opens object storage by the settings of the server: configurations of local
// and remote storage, with the server's own identity or the links of their owners, the gateway
// through which the engine reads remote stores, and the place of stored results.
//
// What may not go in it: how a kind of store works, which is in engine/storage/kind and
// engine/objstore, and who may use a configuration, which is in api/ops.
package stores
