// Package enginetest is the conformance suite of [engine.Engine]: whatever runs
// statements for Lakewarden, in process or behind a socket, passes [Run],
// and [RunRemote] where it also reads remote stores.
//
// It also writes the small Delta tables that such tests need ([Table]). Their
// logs are written by hand here, so that a defect of our own log code cannot
// hide a defect of an engine.
//
// What may not go in: an engine's own machinery (extensions, processes), and
// anything that only one engine promises.
package enginetest
