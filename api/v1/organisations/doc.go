// Package organisations registers the routes of organisations, members, workspaces, API
// keys and the audit log.
//
// Invariant: a credential appears only in the reply to the request that creates it.
package organisations
