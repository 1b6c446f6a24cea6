// Package policies registers the routes of policies: their content, history and simulation.
// It does not read Cedar or definitions beyond their JSON form.
package policies
