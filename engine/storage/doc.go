// Package storage puts storage configurations to work: it proves that a bucket
// can hold Delta tables ([Probe]), finds the tables in it ([Discover],
// [IsTable]), and decides which local directories a configuration may use and
// which locations collide ([LocalRoots], [Overlaps]), and which addresses of the
// network may be reached ([Egress]).
//
// It sees an objstore.Bucket and paths only. Configurations, credentials and
// their owners are the catalog's; HTTP, SQL and the content of a Delta log do
// not belong here.
//
// Invariants:
//   - A probe touches only names below a random folder of its own and removes
//     them whatever happens.
//   - A reason that a check gives is our own text: no store message, path or
//     credential.
//   - A local root is judged by where it really is, symbolic links resolved; an
//     endpoint by the address that is connected to.
package storage
