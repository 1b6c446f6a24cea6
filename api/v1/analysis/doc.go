// Package analysis registers the routes of analyses, and of what an organisation
// configures for the models that word them.
//
// Invariant: no reply contains a key of a vendor.
package analysis
