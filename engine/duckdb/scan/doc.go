// Package scan makes the sources of a statement readable under their names: a list of
// data files becomes a view, a table whose log DuckDB reads is attached.
//
// It chooses neither files nor rows. Invariants: the columns of a view have the names,
// types and order that the list gives, whatever its files hold; the types of every file
// are checked; a cast keeps every value or fails; rows in deletion vectors are left out;
// rows come in the order of the list and of each file; a view never reads a file outside
// its location.
package scan
