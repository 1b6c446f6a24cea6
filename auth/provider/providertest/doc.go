// Package providertest is a strict OAuth server for tests: it checks every parameter of
// the authorization code flow, rotates refresh tokens, and revokes a link whose refresh
// token is used twice, as careful providers do.
package providertest
