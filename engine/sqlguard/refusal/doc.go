// Package refusal holds the typed errors of the guard.
//
// An [Error] is in our own words and never holds text of the engine, so that it can go
// to the client as it is. Its [Code] is stable.
package refusal
