// Package leakproof proves that a statement may read filtered tables in place, without a
// copy of the visible rows.
//
// A proof needs every operation of the statement to be listed in leakproof.txt, which
// holds for one build of the engine only. No listed operation can fail on a hidden row,
// and the rows, values and order of the result follow from the visible rows, whatever
// plan the engine makes. Anything unknown is doubted, and the statement reads copies.
package leakproof
