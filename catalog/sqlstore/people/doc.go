// Package people ends memberships and accounts, and lists what people have, across organisations.
//
// What may not go in it: rules about records (package catalog has them), authorisation
// (catalog/authz), and the creation and change of users and members (catalog/sqlstore).
//
// Invariants:
//   - Every function runs in the transaction of its caller, who raises the epoch.
//   - What a member made stays; what the member may do ends.
package people
