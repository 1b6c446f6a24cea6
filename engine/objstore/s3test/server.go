//go:build unix

package s3test

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

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// supervise runs the server until its standard input ends, which happens when the test binary ends
// for any reason, and then removes its data.
const supervise = `
"$1" --port "$3" --quiet --keep-alive --iam-dir "$2/iam" --iam-cache-disable posix "$2/buckets" </dev/null >"$2/log" 2>&1 &
read -r _
kill $!
wait
rm -rf "$2"
`

// start starts a server, which runs until leash is closed.
func start() (server Server, leash io.Closer, err error) {
	path, err := oracletest.Path(ProgramVariable, "versitygw")
	if err != nil {
		return Server{}, nil, err
	}
	dir, err := os.MkdirTemp("", "lakewarden-s3-")
	if err != nil {
		return Server{}, nil, err
	}
	for _, name := range []string{"buckets", "iam"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return Server{}, nil, err
		}
	}
	address, err := freeAddress()
	if err != nil {
		return Server{}, nil, err
	}
	command := exec.Command("/bin/sh", "-c", supervise, "sh", path, dir, address)
	command.Env = []string{"ROOT_ACCESS_KEY=" + AccessKeyID, "ROOT_SECRET_KEY=" + SecretAccessKey, "VGW_REGION=" + Region, "PATH=" +
		os.Getenv("PATH")}
	// The server has its own process group: an interrupt of the terminal reaches the test binary,
	// whose end then stops the server cleanly.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if leash, err = command.StdinPipe(); err != nil {
		return Server{}, nil, err
	}
	if err := command.Start(); err != nil {
		return Server{}, nil, err
	}
	if err := ready(address); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		leash.Close()
		return Server{}, nil, fmt.Errorf("start versitygw: %w: %s", err, log)
	}
	return Server{Endpoint: "http://" + address, Address: address, dir: dir, program: path}, leash, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
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
