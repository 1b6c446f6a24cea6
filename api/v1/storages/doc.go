// Package storages registers the routes of storage configurations, their credentials, checks and
// discovery.
// Credentials are never in a reply.
package storages
