// Package policy tests who sees which rows and columns: policies, masks, members, keys and revocation,
// over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package policy
