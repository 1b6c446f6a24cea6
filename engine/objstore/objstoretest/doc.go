// Package objstoretest is the conformance suite of objstore.Bucket: what a
// provider has to prove before a Delta table may be committed through it.
//
// Run covers every operation, error, range and listing, and races writers in
// one process. RunProcesses races writers in several processes, some of which
// are killed. Wrappers run the suite like providers do. Only tests import this
// package.
//
// Invariant: the suite knows nothing of how a provider works; what a provider
// cannot do is stated in Config, and a stated limit is tested too.
package objstoretest
