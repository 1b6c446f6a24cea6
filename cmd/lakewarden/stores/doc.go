// Package stores opens the object storage that the server uses: local and remote
// configurations, with the server's own identity or the links of their owners; the gateway
// through which the engine reads remote stores; and the location of stored results.
//
// What may not go in it: how a kind of store works, which is in engine/storage/kind and
// engine/objstore, and who may use a configuration, which is in api/ops.
package stores
