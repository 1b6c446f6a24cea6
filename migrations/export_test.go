package migrations

// Lock is the lock that Apply takes.
var Lock = lock
