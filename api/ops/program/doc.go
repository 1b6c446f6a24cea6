// Package program holds the use cases of programs: the OAuth clients of an organisation, clients that
// nobody vouches for, and service accounts.
//
// What may not go in it: HTTP, SQL, the flows of OAuth (auth/oauth), and people (api/ops/identity).
//
// Invariant: no client and no service account gets more than its maker has, and an open client
// nothing that manages people, credentials or rules.
package program
