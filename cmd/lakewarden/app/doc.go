// Package app builds the server from its parts. It is the only place where the
// contracts of the other packages meet their implementations: [New] connects the parts,
// and each file constructs one of them.
//
// What may not go in it: decisions about requests, rules or data. Settings are in
// config, commands in command.
//
// Invariants:
//   - Parts are closed in the reverse order of their construction, also if the
//     construction fails half-way.
//   - Background work ends before the parts that it uses are closed.
package app
