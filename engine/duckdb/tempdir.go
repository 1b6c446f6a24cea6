package duckdb

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	tempPrefix = "lakewarden-engine-"
	tempLock   = "lock"
)

// tempDir is an engine's directory for spilling. Its lock is held as long as
// the process lives, so that what a killed process left can be told apart.
type tempDir struct {
	path string
	lock *os.File
}

// newTempDir makes a directory below base, after removing those of processes
// that are gone. The directory gets its name when its lock is held.
func newTempDir(base string) (*tempDir, error) {
	if base == "" {
		base = os.TempDir()
	}
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return nil, err
	}
	if strings.Contains(base, "%") {
		return nil, errors.New("temporary directory " + base + ": a percent sign in the path would be decoded by the delta extension")
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

// sweep removes directories whose lock nobody holds. Those that cannot be looked
// into belong to somebody else.
func sweep(base string) {
	old, err := filepath.Glob(filepath.Join(escapeGlob(base), tempPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range old {
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

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// remove deletes the directory and gives the lock up.
func (t *tempDir) remove() error { return errors.Join(os.RemoveAll(t.path), t.lock.Close()) }
