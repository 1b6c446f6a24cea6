//go:build !linux

package duckdb

// giveBack does nothing where the system's allocator needs no telling.
func giveBack() {}

// purgeHeap does nothing, nor does anybody ask for it: no memory is told.
func purgeHeap() {}

func residentBytes() int64 { return 0 }
