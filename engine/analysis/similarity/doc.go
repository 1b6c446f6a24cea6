// Package similarity compares short texts: it normalises them, makes keys that are equal for
// texts that are alike, and measures how alike two texts are.
//
// What may not go in it: tables, columns and statements.
//
// Invariants:
//   - The functions are pure: equal arguments lead to equal results.
//   - A similarity is between 0 and 1, and 1 for equal texts.
//   - Texts need not be valid UTF-8; each invalid byte counts as one character.
package similarity
