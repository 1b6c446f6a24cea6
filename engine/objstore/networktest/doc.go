// Package networktest disturbs the network between a client of a store and its server. Its own tests
// run every store over HTTP behind such a network: an operation ends in time, and what it reports of a
// write agrees with the content of the store.
//
// For tests only.
package networktest
