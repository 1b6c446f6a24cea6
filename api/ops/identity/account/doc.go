// Package account holds the use cases of people about their own accounts, and about the organisations
// that they own.
//
// What may not go in it: sign-ins, members of organisations other than the caller (package identity),
// and the settings of organisations (package admin).
//
// Invariant: nobody acts here on another person. What concerns several organisations is for people who
// have signed in, not for one organisation only.
package account
