package worker_test

// uninterruptible is a statement during which DuckDB does not look for an
// interrupt.
const uninterruptible = "SELECT levenshtein(repeat('a', 150000 + range::INTEGER), repeat('b', 150000)) FROM range(1)"
