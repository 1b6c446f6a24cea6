// Package policies registers the routes of policies: their content, history and
// simulation.
//
// What may not go in it: parsing Cedar, or definitions beyond their JSON form.
package policies
