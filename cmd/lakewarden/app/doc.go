// Package app builds the server from its parts: [New] chooses the implementations of the
// other packages' contracts and connects them, and each file constructs one of them. Larger
// parts are built in packages next to it: the engine in engines, storage in stores, signing
// in in login. Commands that need no server open what they need themselves.
//
// What may not go in it: decisions about requests, rules or data. Settings are in
// config, commands in command.
//
// Invariants: those of package lifecycle, even if the construction fails half-way.
package app
