// Package outbound confines HTTP clients to servers that somebody else chose: identity
// providers, providers of storage, and the publishers of key sets.
//
// What may not go in it: the choice of addresses that may be reached, which the given
// client makes, and the protocols that are spoken.
//
// Invariant: a client of this package follows no redirect, sends no cookie, and bounds the
// time and the size of a reply, whatever the server sends.
package outbound
