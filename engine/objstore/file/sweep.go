package file

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Sweep removes temporary files that were last written before the given time:
// leftovers of processes that died. Choose a time no running write can reach
// back to. Folders that refuse access are passed over.
func (b *Bucket) Sweep(ctx context.Context, before time.Time) (removed int, err error) {
	root, err := b.open()
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// What cannot be read, or vanished, holds nothing for us to remove.
		if err == nil && sweep(root, path, d, before) {
			removed++
		}
		return nil
	})
	if err != nil {
		return removed, fmt.Errorf("sweep: %w", err)
	}
	return removed, nil
}

func sweep(root *os.Root, path string, d fs.DirEntry, before time.Time) bool {
	if !strings.HasPrefix(d.Name(), tempPrefix) {
		return false
	}
	info, err := root.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
		return false
	}
	return root.Remove(path) == nil
}
