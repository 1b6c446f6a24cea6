// Package principal reads the users, memberships, API keys and OAuth clients of the catalog
// for auth/apikey, auth/jwt and auth/oauth, which do not know the catalog.
//
// What may not go in it: decisions about credentials or permissions.
//
// Invariants:
//   - Every read is made as the system, because the caller is not known yet.
//   - A missing record is not an error of the catalog: it is reported as false, or as
//     [oauth.ErrUnknownClient], so that every wrong credential gets the same reply.
package principal
