package analysistest

import "os"

// WideColumns returns the number of columns of a wide table: 500, or fewer where tests take
// representative cases.
func WideColumns() int {
	if os.Getenv("LAKEWARDEN_TEST_REPRESENTATIVE") != "" {
		return 60
	}
	return 500
}
