// Package ssotest provides an identity provider for tests. It signs in without asking, and
// can be told to misbehave.
package ssotest
