package workdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Private is the folder of a session's scratch directory that belongs to its engine. It holds
// incomplete files and what statements spill.
const Private = ".engine"

// Move moves files from the directory from to the directory to, under the same names. If it fails,
// none of them remains in to.
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
