// Package arguments bounds the arguments of functions whose work or result would grow
// without limit.
//
// A constant argument is checked at once. A computed one is wrapped in an expression that
// raises an error when the value exceeds the bound, and evaluates the argument once.
package arguments
