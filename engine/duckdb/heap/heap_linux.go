package heap

/*
#include <stdlib.h> // which says whose C library this is
#ifdef __GLIBC__
#include <malloc.h>
static void give_back(void) { malloc_trim(0); }
#else
static void give_back(void) {}
#endif

// The control of the allocator that the engine brings along for its own buffers, a
// jemalloc; absent where the engine is built without.
extern int duckdb_je_mallctl(const char *name, void *old, size_t *old_size, void *value, size_t size) __attribute__((weak));

static void purge(void) {
	// The number is that of all arenas together, MALLCTL_ARENAS_ALL.
	if (duckdb_je_mallctl) duckdb_je_mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
}
*/
import "C"

import (
	"bytes"
	"os"
	"strconv"
	"sync"
)

// GiveBack returns free pages of the native heaps to the system.
func GiveBack() {
	C.give_back()
	purgeHeap()
}

// purgeHeap returns free pages of DuckDB's allocator to the system.
func purgeHeap() { C.purge() }

// statm is the file with the memory use of this process, in pages.
var statm = sync.OnceValue(func() *os.File {
	f, _ := os.Open("/proc/self/statm")
	return f
})

// residentBytes returns the resident memory of this process, 0 if it is unknown.
func residentBytes() int64 {
	var b [128]byte
	n, _ := statm().ReadAt(b[:], 0)
	fields := bytes.Fields(b[:n])
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
