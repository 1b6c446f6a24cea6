package duckdb

/*
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
static void give_back(void) { malloc_trim(0); }
#else
static void give_back(void) {}
#endif
*/
import "C"

// giveBack returns free pages of the native heap to the system.
func giveBack() { C.give_back() }
