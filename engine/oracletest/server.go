//go:build unix

package oracletest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Server is a running server program. Its holder must keep it referenced: the garbage collector
// would close the pipe of an unreferenced one, which ends the program.
type Server struct {
	// Address is the loopback host and port at which the program listens.
	Address string
	// Dir is a directory of the program, which is removed when it ends.
	Dir   string
	leash io.Closer
}

// Close ends the program.
func (s *Server) Close() error { return s.leash.Close() }

// supervise runs a program until the standard input ends, which happens when the test binary ends
// for any reason, and then removes its directory.
const supervise = `
dir=$1
shift
"$@" </dev/null >"$dir/log" 2>&1 &
read -r _
kill $!
wait
rm -rf "$dir"
`

// Serve starts a server program and waits until it accepts connections. prepare fills the directory
// of the program and returns its command line; env is its environment in addition to PATH.
func Serve(prepare func(dir, address string) (command []string, err error), env ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "lakewarden-server-")
	if err != nil {
		return nil, err
	}
	address, err := FreeAddress()
	if err != nil {
		return nil, err
	}
	line, err := prepare(dir, address)
	if err != nil {
		return nil, err
	}
	command := exec.Command("/bin/sh", append([]string{"-c", supervise, "sh", dir}, line...)...)
	command.Env = append(env, "PATH="+os.Getenv("PATH"))
	// The server has its own process group: an interrupt of the terminal reaches the test binary,
	// whose end then stops the server cleanly.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	leash, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	if err := ready(address); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		leash.Close()
		return nil, fmt.Errorf("start %s: %w: %s", filepath.Base(line[0]), err, log)
	}
	return &Server{Address: address, Dir: dir, leash: leash}, nil
}

func ready(address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
