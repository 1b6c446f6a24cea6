// Package llm asks language models of three vendors for one JSON document, behind one small
// interface.
//
// What may not go in it: prompts, the storage of keys, budgets, and the choice of a model for
// a request.
//
// Invariants:
//   - The environment of the process influences no request. The SDKs of the vendors encode
//     requests and decode replies; the address, the headers and the key of every request
//     are set by this package, from [Options] alone.
//   - A key is sent to the address that it was configured with and nowhere else. Redirects
//     are not followed.
//   - A reply takes bounded memory and time, whatever the server sends.
//   - No error contains a key, a prompt or anything that a server sent.
package llm
