// Package admin manages an organisation: its settings, members, workspaces, API keys,
// policies and audit log.
//
// What may not go in it: reads and changes of rows, storage configurations (package
// storage), signing in (package identity).
//
// Invariant: no caller grants rights that exceed their own.
package admin
