// Package config reads and checks the settings of the server: defaults, the YAML file,
// the environment and flags, in order of increasing precedence.
//
// What may not go in it: the construction of the parts that the settings configure.
//
// Invariants:
//   - [Load] returns settings that [Settings.Verify] accepts, with absolute paths.
//   - No error and no log attribute contains a secret.
package config
