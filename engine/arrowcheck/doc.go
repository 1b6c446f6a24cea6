// Package arrowcheck checks the messages of Arrow IPC streams from sources that are not trusted:
// request bodies, and the results of worker processes.
//
// The Arrow library trusts messages: it allocates what they claim, follows cyclic offsets forever
// and expands shared parts each time they occur. A panic of the library can be recovered, but
// exhausted memory ends the process. So each message is checked before the library reads it.
//
// The package reads metadata only, never values: an offset or index within an array may still be
// wrong. It imports neither the Arrow library nor a package of this module.
//
// Invariants: the memory that the library takes for a checked message is bounded by the limit of a
// batch and by a multiple of the message's own length; no message makes the check panic.
package arrowcheck
