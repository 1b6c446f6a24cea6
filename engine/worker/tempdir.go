package worker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	tempPrefix = "lakewarden-workers-"
	tempLock   = "lock"
)

// tempDir holds the working directories of an engine's children. Its lock lives
// as long as the parent, so that what a killed parent left can be told apart.
type tempDir struct {
	path string
	lock *os.File
}

// newTempDir makes a directory below base, after removing those of parents that
// are gone. The directory gets its name when its lock is held.
func newTempDir(base string) (_ *tempDir, err error) {
	if base == "" {
		base = os.TempDir()
	}
	if base, err = filepath.Abs(base); err != nil {
		return nil, err
	}
	sweep(base)
	young, err := os.MkdirTemp(base, "new-"+tempPrefix)
	if err != nil {
		return nil, err
	}
	t := &tempDir{path: filepath.Join(base, strings.TrimPrefix(filepath.Base(young), "new-"))}
	if t.lock, err = os.Create(filepath.Join(young, tempLock)); err == nil {
		if err = syscall.Flock(int(t.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			err = os.Rename(young, t.path)
		}
	}
	if err != nil {
		return nil, errors.Join(err, t.lock.Close(), os.RemoveAll(young))
	}
	return t, nil
}

// sweep removes directories whose lock nobody holds.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), tempPrefix) {
			continue
		}
		dir := filepath.Join(base, entry.Name())
		lock, err := os.OpenFile(filepath.Join(dir, tempLock), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(dir)
		}
		_ = lock.Close()
	}
}

// child makes a directory for one child.
func (t *tempDir) child() (string, error) { return os.MkdirTemp(t.path, "worker-") }

// remove deletes the directory and gives the lock up.
func (t *tempDir) remove() error { return errors.Join(os.RemoveAll(t.path), t.lock.Close()) }
