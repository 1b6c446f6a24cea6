package engines

import "os"

// ExceptLoopback adds 127.0.0.1 to the environment's exceptions from proxies. DuckDB's
// extensions read only the environment of their process, not settings of a session.
// With HTTP_PROXY set they would send requests for the gateway, signed but not
// encrypted, to the proxy. It must be called before other threads read the environment.
// Worker processes have no environment.
func ExceptLoopback() error {
	excepted := os.Getenv("NO_PROXY")
	if excepted == "" {
		excepted = os.Getenv("no_proxy")
	}
	if excepted != "" {
		excepted += ","
	}
	// Clients differ in which spelling they prefer.
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if err := os.Setenv(name, excepted+"127.0.0.1"); err != nil {
			return err
		}
	}
	return nil
}
