// Package principal reads the users, memberships and API keys of the catalog for
// the authenticators of auth/apikey and auth/jwt, which do not know the catalog.
//
// What may not go in it: decisions about credentials or permissions.
//
// Invariants:
//   - Every read is made as the system, because the caller is not known yet.
//   - A missing record is reported as false, never as an error, so that the
//     authenticators respond alike to every wrong credential.
package principal
