package file

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// List implements objstore.Bucket. It holds the entries of one folder of each level at a time.
// Links to files are listed; links to folders are not followed, because they could form loops.
func (b *Bucket) List(ctx context.Context, prefix string, opts objstore.ListOptions) iter.Seq2[objstore.Object, error] {
	return func(yield func(objstore.Object, error) bool) {
		w := walk{ctx: ctx, prefix: prefix, opts: opts, yield: yield}
		if err := b.list(&w); err != nil && !errors.Is(err, errStop) {
			yield(objstore.Object{}, failed(objstore.OpList, prefix, err))
		}
	}
}

func (b *Bucket) list(w *walk) error {
	if err := objstore.ValidPrefix(w.prefix); err != nil {
		return err
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	root, err := b.open()
	if err != nil {
		return err
	}
	defer root.Close()
	w.root = root
	folder := w.prefix[:strings.LastIndexByte(w.prefix, '/')+1]
	if folder == "" {
		return w.folder(root, "")
	}
	return w.enter(root, folder, folder)
}

// errStop ends a walk whose consumer has stopped.
var errStop = errors.New("stop")

// walk is one running listing.
type walk struct {
	ctx    context.Context
	root   *os.Root
	prefix string
	opts   objstore.ListOptions
	yield  func(objstore.Object, error) bool
}

// enter walks a folder: path is its name in parent, and name, which ends in a slash, its name in
// the bucket. A folder that was deleted meanwhile is empty.
func (w *walk) enter(parent *os.Root, path, name string) error {
	path = strings.TrimSuffix(path, "/")
	dir, err := parent.OpenRoot(path)
	if err == nil {
		defer dir.Close()
		return w.folder(dir, name)
	}
	// If a file has replaced the folder, os.Root returns an error that is not an errno.
	info, statErr := parent.Stat(path)
	if err = translate(err); errors.Is(err, objstore.ErrNotFound) || statErr == nil && !info.IsDir() {
		return nil
	}
	return err
}

// entry is a directory entry with its sort key. The key of a folder ends in a slash, as in the
// names of its objects.
type entry struct {
	key string
	dir bool
}

func (w *walk) folder(dir *os.Root, name string) error {
	handle, err := openFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed concurrently
	}
	if err != nil {
		return translate(err)
	}
	defer handle.Close()
	entries, err := w.entries(handle, name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		full := name + e.key
		switch {
		case !e.dir:
			err = w.file(handle, e.key, full)
		case w.opts.Shallow:
			err = w.emit(objstore.Object{Name: full})
		case full <= w.opts.StartAfter && !strings.HasPrefix(w.opts.StartAfter, full):
			// Everything in it sorts before StartAfter.
		default:
			err = w.enter(dir, e.key, full)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries returns the relevant entries of a folder, sorted.
func (w *walk) entries(dir *os.File, name string) ([]entry, error) {
	found, err := dir.ReadDir(-1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // removed concurrently
	}
	if err != nil {
		return nil, translate(err)
	}
	entries := make([]entry, 0, len(found))
	for _, f := range found {
		e := entry{key: f.Name(), dir: f.IsDir()}
		if e.dir {
			e.key += "/"
		}
		full := name + e.key
		// Most of a long log sorts before StartAfter. It is skipped early to save work.
		if !strings.HasPrefix(full, w.prefix) || !e.dir && full <= w.opts.StartAfter {
			continue
		}
		// A name that no request can address is not an object.
		if validName(strings.TrimSuffix(full, "/")) == nil {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(x, y entry) int { return strings.Compare(x.key, y.key) })
	return entries, nil
}

// openFolder opens a folder to read its entries. A handle of os.Root would call stat for every
// entry that it reads, relevant or not, which costs more than the reading.
func openFolder(dir *os.Root) (*os.File, error) {
	rooted, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer rooted.Close()
	fd, err := unix.FcntlInt(rooted.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rooted.Name()), nil
}

// file emits the object that a folder has under name, unless it was deleted meanwhile or is not a
// regular file.
func (w *walk) file(dir *os.File, name, full string) error {
	object := objstore.Object{Name: full}
	var found unix.Stat_t
	// An entry is a single path element, and links are not followed.
	err := ignoringInterrupts(func() error { return unix.Fstatat(int(dir.Fd()), name, &found, unix.AT_SYMLINK_NOFOLLOW) })
	regular := found.Mode&unix.S_IFMT == unix.S_IFREG
	object.Size, object.ModTime = found.Size, time.Unix(found.Mtim.Unix())
	if err == nil && found.Mode&unix.S_IFMT == unix.S_IFLNK {
		// Stat from the bucket's root, so that links are followed as by Get.
		var info fs.FileInfo
		if info, err = w.root.Stat(full); errors.Is(translate(err), objstore.ErrDenied) {
			return nil // a link that leads outside the root
		}
		if err == nil {
			regular, object.Size, object.ModTime = info.Mode().IsRegular(), info.Size(), info.ModTime()
		}
	}
	switch err = translate(err); {
	case errors.Is(err, objstore.ErrNotFound):
		return nil // deleted, or a dangling link
	case err != nil:
		return err
	case !regular:
		return nil
	}
	return w.emit(object)
}

// ignoringInterrupts repeats call while a signal interrupts it.
func ignoringInterrupts(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (w *walk) emit(object objstore.Object) error {
	if object.Name <= w.opts.StartAfter {
		return nil
	}
	if !w.yield(object, nil) {
		return errStop
	}
	return nil
}
