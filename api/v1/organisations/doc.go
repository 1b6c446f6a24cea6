// Package organisations registers the routes of organisations, members, workspaces, API keys and
// the audit log.
// Credentials appear in the reply that creates them and nowhere else.
package organisations
