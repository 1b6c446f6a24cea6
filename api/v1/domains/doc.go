// Package domains serves the routes of column domains and shared domains.
//
// What may not go in it: the meaning of values and domains, which api/ops/domain decides.
package domains
