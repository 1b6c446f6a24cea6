// Package storages registers the routes of storage configurations, their credentials,
// tests and discovery.
//
// Invariant: no reply contains a credential.
package storages
