// Package arrowbody reads rows from bodies in the Arrow IPC streaming format.
//
// The Arrow library decodes the messages, each after arrowcheck has checked it. Invariants: memory
// is bounded by the limit of a batch and by a multiple of the message's own length; a body at which
// the library panics is a body that is not valid.
package arrowbody
