//go:build !linux

package heap

// GiveBack does nothing.
func GiveBack() {}

// purgeHeap does nothing; residentBytes never reports memory to free.
func purgeHeap() {}

func residentBytes() int64 { return 0 }
