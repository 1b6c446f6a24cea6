package file

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// logFolder is the folder of a table's log, by which the table's folder is found.
const logFolder = "_delta_log"

// rights are the group and the mode of new files and folders.
type rights struct {
	mode  fs.FileMode // of files
	group int
	// setgid is set on new folders if the folder that they follow has it.
	setgid fs.FileMode
	// chosen says that the mode was configured.
	chosen bool
}

// rightsFor returns the rights of the object name: those of its table's folder, or, if that does
// not exist yet, of the folder in which it will be. Others have none. The umask does not matter: the
// owner of the folder has decided who may read its rows.
func (b *Bucket) rightsFor(root *os.Root, name string) (rights, error) {
	folder := tableFolder(root, name)
	info, err := root.Stat(folder)
	for errors.Is(err, fs.ErrNotExist) && folder != "." {
		folder = path.Dir(folder)
		info, err = root.Stat(folder)
	}
	if err != nil {
		return rights{}, err
	}
	r := rights{mode: info.Mode().Perm() & 0o660, group: -1, setgid: info.Mode() & fs.ModeSetgid}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		r.group = int(stat.Gid)
	}
	if b.mode != 0 {
		r.mode, r.chosen = b.mode, true
	}
	r.mode |= 0o600
	return r, nil
}

// tableFolder returns the folder of the table to which an object belongs: the one with the log,
// or the object's own folder if there is no log.
func tableFolder(root *os.Root, name string) string {
	if at := strings.LastIndex("/"+name, "/"+logFolder+"/"); at >= 0 {
		return path.Clean(name[:at])
	}
	own := path.Dir(name)
	for folder := own; ; folder = path.Dir(folder) {
		if _, err := root.Lstat(path.Join(folder, logFolder)); err == nil {
			return folder
		}
		if folder == "." {
			return own
		}
	}
}

// give gives a new file its rights. A file system that has no rights keeps its own.
func (r rights) give(file *os.File) {
	_ = file.Chmod(r.within(file.Chown(-1, r.group), r.mode))
}

// mkdir makes a folder with the rights. Whoever may read files may search folders.
func (r rights) mkdir(root *os.Root, folder string) error {
	mode := r.mode | (r.mode&0o444)>>2
	if err := root.Mkdir(folder, mode); err != nil {
		return err
	}
	_ = root.Chmod(folder, r.within(root.Chown(folder, -1, r.group), mode)|r.setgid)
	return nil
}

// within returns a mode without access for the group if the group could not be given: the
// process's own group is another one.
func (r rights) within(given error, mode fs.FileMode) fs.FileMode {
	if given != nil && !r.chosen {
		return mode &^ 0o070
	}
	return mode
}
