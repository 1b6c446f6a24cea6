// Package feature checks the features that an organisation has switched on.
//
// What may not go in it: what a feature does.
//
// Invariant: a use case of a feature calls [Require] before it changes anything.
package feature
