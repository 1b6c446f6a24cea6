// Command lakewarden provides governance for Delta Lake tables in object storage. Its
// command line is in package command, its settings are in config, and app builds the
// server.
package main

import (
	"os"

	"github.com/lakewarden/lakewarden/cmd/lakewarden/app"
)

// Version is set by the linker.
var version = "dev"

func main() { os.Exit(app.Main(version)) }
