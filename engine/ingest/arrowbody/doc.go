// Package arrowbody reads rows from bodies in the Arrow IPC streaming format.
//
// The Arrow library decodes the messages. It trusts them: it allocates what they claim,
// follows their offsets without end and expands what they share. So each message is
// checked before the library sees it. Invariants: memory is bounded by the limit of a
// batch and by a multiple of the message's own length; a panic of the library is a body
// that is not valid.
package arrowbody
