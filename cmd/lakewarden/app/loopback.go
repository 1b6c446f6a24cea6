package app

import "os"

// exceptLoopback adds 127.0.0.1 to what the environment excepts from proxies.
// DuckDB's extensions look at the environment of their process and at nothing
// that a session could set: with HTTP_PROXY alone they would send what a session
// asks of the gateway, signed but not encrypted, to the proxy. It comes before
// anything that reads the environment from another thread. A process of workers
// has no environment.
func exceptLoopback() error {
	excepted := os.Getenv("NO_PROXY")
	if excepted == "" {
		excepted = os.Getenv("no_proxy")
	}
	if excepted != "" {
		excepted += ","
	}
	// One client prefers the one spelling, one the other.
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if err := os.Setenv(name, excepted+"127.0.0.1"); err != nil {
			return err
		}
	}
	return nil
}
