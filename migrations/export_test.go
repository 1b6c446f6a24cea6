package migrations

// Lock is the lock that Apply holds.
var Lock = lock
