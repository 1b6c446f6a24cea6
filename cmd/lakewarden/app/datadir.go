package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dirLock is the file in the data directory whose lock the server holds.
const dirLock = "server.lock"

// holdDataDir makes a data directory, if need be, and takes its lock for as long
// as this process lives: nothing gives it back, so that whoever gets it next knows
// that the process is gone, whatever it was doing at its end.
//
// The name is that of the file for the running kernel: two processes with the
// same name have held the lock of the same file, one after the other. A copy of the
// directory, another host and the next boot have other names. It is empty where
// the kernel does not say which boot this is.
func holdDataDir(dir string) (name string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, dirLock)
	// Not an os.File: that one gives its lock up when nobody refers to it any more.
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	if name, err = lockedName(fd); err != nil {
		return "", errors.Join(fmt.Errorf("lock %s: %w", path, err), syscall.Close(fd))
	}
	return name, nil
}

// errHeld: one data directory is for one server.
var errHeld = errors.New("another server has this data directory")

func lockedName(fd int) (string, error) {
	err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return "", errHeld
	}
	var file syscall.Stat_t
	if err == nil {
		err = syscall.Fstat(fd, &file)
	}
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", nil
	}
	return fmt.Sprintf("%s/%d/%d", strings.TrimSpace(string(boot)), file.Dev, file.Ino), nil
}
