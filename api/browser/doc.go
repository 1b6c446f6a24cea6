// Package browser makes and reads the cookies of the server.
//
// What may not go in it: what a cookie proves, and which requests set it.
//
// Invariant: no script and no other host reads a cookie, and with https no other host sets
// one.
package browser
