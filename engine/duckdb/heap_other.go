//go:build !linux

package duckdb

// giveBack does nothing where the system's allocator needs no telling.
func giveBack() {}

func keepNothing() error { return nil }
