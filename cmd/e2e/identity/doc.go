// Package identity tests how people and programs come into organisations and leave them:
// organisations, members, invitations and sign-in, over HTTP against the whole server.
//
// What may not go in it: helpers that another of these packages needs. They belong to
// harness.
package identity
