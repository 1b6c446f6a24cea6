// Package program holds the use cases of programs: the OAuth clients of an organisation, clients that
// nobody vouches for, and service accounts.
//
// What may not go in it: HTTP, the flows of OAuth, and what people may do (api/ops/identity).
package program
