// Package heap keeps the free pages of the allocator that DuckDB's instances in this
// process share within bounds.
//
// It knows statements by their memory limits only. Invariants: free pages are returned
// when running statements come near their limits, before a statement begins if much is
// free, and when none has run for a second. On systems other than Linux it does nothing.
package heap
