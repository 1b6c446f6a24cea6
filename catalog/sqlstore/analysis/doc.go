// Package analysis stores what an organisation configures for the models that word
// analyses, and counts the use of analyses.
//
// What may not go in it: rules about records (package catalog has them), authorisation
// (catalog/authz), and the choice of limits.
//
// Invariants:
//   - A count changes in one transaction that holds its row, so that replicas together
//     never exceed a limit.
//   - An organisation has one row of counts, and one row of use for each day.
package analysis
