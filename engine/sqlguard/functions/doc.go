// Package functions classifies every function of the engine.
//
// The list is functions.txt. A function that it does not name cannot be called; a test
// compares it with the functions of the linked engine.
package functions
