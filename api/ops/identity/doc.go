// Package identity holds the use cases by which people come into organisations, and leave
// them: organisations, members, invitations, sign-in, sessions, single sign-on, provider
// applications and links.
//
// What may not go in it: HTTP, SQL, programs (api/ops/program), the protocols of OAuth and
// OpenID Connect, and the transport of e-mails, which packages below auth have.
//
// Invariants:
//   - No caller grants rights that exceed their own.
//   - No reply and no delay of an open use case depends on whether an e-mail address is
//     known.
//   - A link in an e-mail changes nothing before its token is sent back.
package identity
