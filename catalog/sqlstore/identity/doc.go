// Package identity stores how people and programs come into organisations: passwords,
// invitations, clients, single sign-on, e-mail domains, identities at providers, provider applications
// and links.
//
// What may not go in it: rules about records (package catalog has them), authorisation
// (catalog/authz), sessions and tokens (auth/sqlstore), and the records of organisations,
// users and members themselves (catalog/sqlstore).
//
// Invariants:
//   - Secrets arrive sealed or as hashes.
//   - Of the organisations that list an e-mail domain, at most one has verified it.
//   - A subject of an identity provider is one user of an organisation. Its address never chooses
//     another one.
//   - Every transaction that takes something from a credential in use, or makes somebody a
//     member, raises the epoch. Passwords and tokens of links change without it: no cached
//     decision depends on them.
//   - Passwords belong to people, whatever their organisations, and open clients to nobody.
//     Every other record belongs to an organisation. The records of a deleted organisation are not returned, but its
//     verified domains remain taken until its purge.
package identity
