// Package identity registers the routes below /v1 by which people and programs come into
// organisations: invitations, sign-in, clients, single sign-on and provider applications.
//
// What may not go in it: rules, which package api/ops/identity has, and routes outside
// /v1.
//
// Invariant: a secret appears only in the reply to the request that creates it.
package identity
