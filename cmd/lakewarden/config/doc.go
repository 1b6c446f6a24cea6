// Package config reads and checks the settings of the server: defaults, the YAML
// file, the environment and flags, of which the later ones win.
//
// What may not go in: the construction of what a setting is about.
//
// Invariants:
//   - [Load] returns settings that [Settings.Verify] accepts, with absolute paths.
//   - No error and no log attribute contains a secret.
package config
