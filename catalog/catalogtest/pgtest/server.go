//go:build unix

package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/lakewarden/lakewarden/engine/oracletest"
)

// supervise runs the server until its standard input ends, which happens when the test
// binary ends for any reason, and then removes its data.
const supervise = `
"$1/postgres" -D "$2/data" -k "$2" -p "$3" -c listen_addresses=127.0.0.1 -c max_connections=200 \
	-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c shared_buffers=32MB \
	</dev/null >"$2/log" 2>&1 &
read -r _
kill -INT $!
wait
rm -rf "$2"
`

// launch starts a server and returns the URL of its administrator and its standard
// input. The server runs until the input is closed.
func launch() (url string, leash io.Closer, err error) {
	bin, err := programs()
	if err != nil {
		return "", nil, err
	}
	who, err := credential()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "lakewarden-postgres-")
	if err != nil {
		return "", nil, err
	}
	if who != nil {
		if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
			return "", nil, err
		}
	}
	as := func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Dir = dir
		// In its own process group the server does not get an interrupt of the
		// terminal, but stops in good order when the test binary ends.
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who, Setpgid: true}
		return cmd
	}
	// A collation that does not compare bytes reveals code that relies on one.
	initdb := as(exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"), "-U", "lakewarden",
		"-A", "trust", "--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync"))
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	address, err := oracletest.FreeAddress()
	if err != nil {
		return "", nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, err
	}
	command := as(exec.Command("/bin/sh", "-c", supervise, "sh", bin, dir, port))
	if leash, err = command.StdinPipe(); err != nil {
		return "", nil, err
	}
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	url = "postgres://lakewarden@" + address + "/postgres?sslmode=disable"
	if err := ready(url); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return "", nil, fmt.Errorf("start postgres: %w: %s", err, log)
	}
	return url, leash, nil
}

// programs returns the folder of the newest installed server.
func programs() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		return "", errors.New("the programs initdb and postgres are not installed")
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
}

// credential returns the user to run the server as, because it refuses to run as root.
func credential() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uidErr, gidErr); err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("running as root, and no unprivileged user to run postgres was found")
}

func ready(url string) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
