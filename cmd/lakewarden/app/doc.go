// Package app builds the server from its parts: [New] chooses the implementations of the
// other packages' contracts and connects them, and each file constructs one of them.
// Commands that need no server open what they need themselves.
//
// What may not go in it: decisions about requests, rules or data. Settings are in
// config, commands in command.
//
// Invariants:
//   - Parts are closed in the reverse order of their construction, also if the
//     construction fails half-way.
//   - Background work ends before the parts that it uses are closed.
package app
