//go:build race

package delta_test

// raced reports that the tests run under the race detector, where they are slow: they take fewer
// samples and cases. The package is also tested without it, with all of them.
const raced = true
