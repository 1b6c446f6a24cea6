// Package cluster groups texts that are forms of one value, such as spellings of a name, by
// keys that are equal for them and by the distance of rare texts to frequent ones.
//
// What may not go in it: tables, columns and statements, and lists of words of a domain.
//
// Invariants:
//   - Equal texts with equal numbers of rows lead to equal clusters.
//   - Two forms of a cluster have the same digits, and the same signs that have a meaning.
//   - Work and memory grow with the number of texts: a text is compared with a bounded number
//     of others.
package cluster
