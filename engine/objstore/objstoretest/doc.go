// Package objstoretest is the conformance suite of objstore.Bucket: it checks what a provider must
// guarantee before a Delta table may be committed through it.
//
// Run covers every operation, error, range and listing, and races writers in one process.
// RunProcesses races writers in several processes, some of which are killed. Dialect has the cases
// of a provider over HTTP whose store, a Script, gives replies that a real one sends rarely. Wrappers
// run the suite like providers do. Only tests import this package.
//
// Invariant: the suite does not depend on a provider's implementation; what a provider cannot do is
// stated in Config, and stated limits are tested too.
package objstoretest
