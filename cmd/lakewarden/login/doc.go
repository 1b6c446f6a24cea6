// Package login builds what signs people and programs in: the check of API keys and tokens, the
// authorization server, passwords and pages, single sign-on, and links to OAuth providers.
//
// What may not go in it: decisions about identity, which api/ops/identity and auth make.
package login
