// Package enginetest is the conformance suite of [engine.Engine]: every
// implementation, in process or behind a socket, passes [Run], and also [RunRemote]
// if it reads remote stores.
//
// It writes the small Delta tables that such tests need ([Table]). It writes their
// logs without package delta, so that a defect there cannot hide a defect of an
// engine.
//
// What may not go in it: parts of an engine (extensions, processes), and requirements
// that only one engine meets.
package enginetest
