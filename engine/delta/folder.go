package delta

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// folder is the folder of a table. It converts paths of the log to names of objects
// below the folder and refuses all others.
//
// An absolute path is accepted if the store reports that it is inside the folder. The
// protocol identifies a file by its path as written, and Spark's replay does so too: a
// file added by an absolute path is not removed by a relative one.
type folder struct{ bucket objstore.Bucket }

// name returns the object's name. identity distinguishes an absolute path from other
// paths to the same object; it is empty for a relative path. Errors: [ErrUnsafePath].
func (f folder) name(path string) (name, identity string, err error) {
	scheme, host, decoded, absolute := logpath.Absolute(path)
	if !absolute {
		name, err = logpath.Decode(path)
		return name, "", err
	}
	name, ok := "", false
	if f.bucket != nil {
		name, ok = objstore.Locate(f.bucket, objstore.Reference{Scheme: scheme, Host: host, Path: decoded})
	}
	if !ok {
		return "", "", logpath.Outside(path)
	}
	if again, err := logpath.Decode(logpath.Encode(name)); err != nil || again != name {
		return "", "", logpath.Outside(path)
	}
	if scheme == "" {
		scheme = "file"
	}
	return name, scheme + "://" + host + decoded, nil
}

// vectorName returns the name of the object that holds a deletion vector, or "" for an
// inline one. Errors: [ErrUnsafePath], [ErrMalformed].
func (f folder) vectorName(dv *action.DeletionVector) (name string, err error) {
	switch dv.StorageType {
	case storedInline:
		return "", nil
	case storedAbsolute:
		name, identity, err := f.name(dv.PathOrInlineDV)
		if err == nil && identity == "" {
			err = logpath.Outside(dv.PathOrInlineDV)
		}
		return name, err
	}
	return deletion.FileName(dv)
}

// The storage types of deletion vectors whose file is not named by a UUID: inline, and
// by absolute path.
const (
	storedInline   = "i"
	storedAbsolute = "p"
)

// sidecar returns the object name of a sidecar. Errors: [ErrUnsafePath].
func (f folder) sidecar(path string) (string, error) {
	name, identity, err := f.name(path)
	if err != nil || identity == "" {
		return logpath.Sidecar(path)
	}
	if base, ok := strings.CutPrefix(name, logpath.SidecarDir); !ok || strings.Contains(base, "/") {
		return "", logpath.Outside(path)
	}
	return name, nil
}

// keySeparator separates a file's name, the id of its deletion vector and the identity
// of an absolute path. It sorts before every character of a name and never occurs in
// one.
const keySeparator = "\x00"

// fileKey returns the identity of a logical file: its path and its deletion vector.
// absolute reports whether one of them is an absolute path. Errors: [ErrUnsafePath].
func (f folder) fileKey(path string, dv *action.DeletionVector) (key string, absolute bool, err error) {
	key, identity, err := f.name(path)
	if err != nil {
		return "", false, err
	}
	id := ""
	if dv != nil {
		if dv.StorageType == storedAbsolute {
			_, err = f.vectorName(dv)
			absolute = true
		} else {
			err = deletion.CheckLocation(dv)
		}
		if err != nil {
			return "", false, err
		}
		id = dv.UniqueID()
	}
	switch {
	case identity != "":
		return key + keySeparator + id + keySeparator + identity, true, nil
	case dv != nil:
		key += keySeparator + id
	}
	return key, absolute, nil
}

// fileName returns the object name in a key.
func fileName(key string) string {
	name, _, _ := strings.Cut(key, keySeparator)
	return name
}
