package duckdb

/*
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#ifdef __GLIBC__
#include <malloc.h>
static void give_back(void) { malloc_trim(0); }
#else
static void give_back(void) {}
#endif

// The control of the allocator that the engine brings along for its own buffers, a
// jemalloc; absent where the engine is built without.
extern int duckdb_je_mallctl(const char *name, void *old, size_t *old_size, void *value, size_t size) __attribute__((weak));

static int set_decay(const char *name, ssize_t milliseconds) {
	return duckdb_je_mallctl(name, NULL, NULL, &milliseconds, sizeof milliseconds);
}

static int keep_nothing(void) {
	if (!duckdb_je_mallctl) return 0;
	int failed = set_decay("arenas.dirty_decay_ms", 0);
	if (!failed) failed = set_decay("arenas.muzzy_decay_ms", 0);
	unsigned arenas = 0;
	size_t size = sizeof arenas;
	if (!failed) failed = duckdb_je_mallctl("arenas.narenas", &arenas, &size, NULL, 0);
	if (failed) return failed;
	// That was for arenas to come. A number without an arena fails, as it should.
	for (unsigned i = 0; i < arenas; i++) {
		char name[64];
		snprintf(name, sizeof name, "arena.%u.dirty_decay_ms", i);
		set_decay(name, 0);
		snprintf(name, sizeof name, "arena.%u.muzzy_decay_ms", i);
		set_decay(name, 0);
	}
	return 0;
}
*/
import "C"

import (
	"fmt"
	"sync"
	"syscall"
)

// giveBack returns free pages of the native heap to the system.
func giveBack() { C.give_back() }

// keepNothing has the engine's allocator return pages as soon as they are free. It
// would keep them for a second, in which a sort that spills frees some hundred
// megabytes: beyond what any limit of the engine counts.
var keepNothing = sync.OnceValue(func() error {
	if failed := C.keep_nothing(); failed != 0 {
		return fmt.Errorf("setting the engine's allocator: %w", syscall.Errno(failed))
	}
	return nil
})
