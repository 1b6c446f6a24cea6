package workdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Private is the folder of a session's scratch directory that belongs to its
// engine: files that are not complete, and what statements spill.
const Private = ".engine"

// Move gives files, which lie in the directory from, their place in the directory
// to, under the same names. After a failure none of them is left there.
func Move(names []string, from, to string) error {
	for i, name := range names {
		err := moveOne(name, from, to)
		if err == nil {
			continue
		}
		for _, moved := range names[:i] {
			err = errors.Join(err, os.Remove(filepath.Join(to, moved)))
		}
		return err
	}
	return nil
}

func moveOne(name, from, to string) error {
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return fmt.Errorf("not the name of a file: %q", name)
	}
	return os.Rename(filepath.Join(from, name), filepath.Join(to, name))
}
