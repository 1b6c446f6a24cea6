package workdir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockName is the name of the lock file in a directory. The directory's owner holds its lock.
const lockName = "lock"

// Dir is a directory that belongs to this process alone. Its lock lives as long as the process, so
// that directories of killed processes can be recognised. It is safe for concurrent use.
type Dir struct {
	path string
	lock *os.File
}

// New makes a directory with a unique name that begins with prefix below base, after it has removed
// the directories of ended processes. The directory gets this name after it is locked. base must
// exist; "" is the system's directory for temporary files.
func New(base, prefix string) (_ *Dir, err error) {
	if base == "" {
		base = os.TempDir()
	}
	if base, err = filepath.Abs(base); err != nil {
		return nil, err
	}
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return nil, err
	}
	sweep(base, prefix)
	young, err := os.MkdirTemp(base, "new-"+prefix)
	if err != nil {
		return nil, err
	}
	d := &Dir{path: filepath.Join(base, strings.TrimPrefix(filepath.Base(young), "new-"))}
	if d.lock, err = os.Create(filepath.Join(young, lockName)); err == nil {
		if err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			err = os.Rename(young, d.path)
		}
	}
	if err != nil {
		return nil, errors.Join(err, d.lock.Close(), os.RemoveAll(young))
	}
	return d, nil
}

// sweep removes directories that no process has locked. It ignores those that it cannot read, which
// belong to other users.
func sweep(base, prefix string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		dir := filepath.Join(base, entry.Name())
		lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}

// Path returns the directory, absolute and without links.
func (d *Dir) Path() string { return d.path }

// Make makes a subdirectory whose name begins with prefix.
func (d *Dir) Make(prefix string) (string, error) { return os.MkdirTemp(d.path, prefix) }

// Remove deletes the directory and releases the lock. It must be called only once.
func (d *Dir) Remove() error { return errors.Join(os.RemoveAll(d.path), d.lock.Close()) }
