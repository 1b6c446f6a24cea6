// Package browser makes and reads the cookies of the server, and tells browsers from programs.
//
// What may not go in it: what a cookie proves, which requests set it, and texts of pages.
//
// Invariant: no script and no other host reads a cookie, and with https no other host sets
// one.
package browser
