// Package contentcoding decompresses request bodies: the content codings of RFC 9110 and
// RFC 8878 that clients may use.
//
// It knows no format of rows. Invariants: memory is bounded, whatever a body claims; a
// decompressed body has no bound of its own, so that every reader of one is metered.
package contentcoding
