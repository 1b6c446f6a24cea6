// Package wording lets a language model put the answer of an analysis into words.
//
// What may not go in it: reading tables, and anything that lets a model decide. A model sees
// an excerpt of the answer and returns one text.
//
// Invariants:
//   - Only the text of an answer changes, whatever its cells contain and whatever the model
//     replies.
//   - The data of a prompt stand between two lines that the data cannot contain.
//   - A prompt, a reply and the number of requests are bounded.
//   - The text cites only cells that the answer cites.
//
// The text comes from a model that may have read hostile data. It is shown as plain text, next to the
// structured answer, and is never an input of anything else.
package wording
