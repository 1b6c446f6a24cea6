package workdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dirLock is the name of the lock file in a data directory, which the server has locked.
const dirLock = "server.lock"

// Hold creates the data directory dir, if it does not exist, and locks it for the
// life of this process. Nothing releases the lock earlier, so the next process that
// gets it knows that this one has ended. ErrHeld.
//
// The returned name identifies the directory's lock file within one boot of the
// system: two processes with the same name have held the same lock, one after the
// other. A copy of the directory, another host and the next boot have other names.
// The name is empty if the system does not identify its boot.
func Hold(dir string) (name string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, dirLock)
	// An os.File would release its lock when it is garbage collected.
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", path, err)
	}
	if name, err = lockedName(fd); err != nil {
		return "", errors.Join(fmt.Errorf("lock %s: %w", path, err), syscall.Close(fd))
	}
	return name, nil
}

// ErrHeld: Hold found that another server holds the directory. Not retried.
var ErrHeld = errors.New("another server has this data directory")

func lockedName(fd int) (string, error) {
	err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return "", ErrHeld
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
