// Package storage checks storage configurations. It verifies that a bucket can hold Delta tables
// ([Probe]) and finds the tables in it ([Discover], [IsTable]). It decides which local directories
// a configuration may use and which locations overlap ([LocalRoots], [Overlaps]), and which network
// addresses may be reached ([Egress]).
//
// It uses only an objstore.Bucket and paths. Configurations, credentials and their owners belong to
// the catalog; HTTP, SQL and the content of a Delta log do not belong here.
//
// Invariants:
//   - A probe writes only below a random folder of its own and always removes what it wrote.
//   - The reason of a check is this package's own text: no store message, path or credential.
//   - A local root is judged by its real path, with symbolic links resolved, and an endpoint by the
//     address to which the connection is made.
package storage
