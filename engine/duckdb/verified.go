package duckdb

import (
	"encoding/hex"
	"os"
	"time"
)

// VerifiedFile is an extension file that passed the signature check, as another
// process of this server can be told.
type VerifiedFile struct {
	Name     string    `json:"name"`
	Path     string    `json:"path"`
	SHA256   string    `json:"sha256"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// verified is the description of x for another process.
func (x extension) verified() VerifiedFile {
	return VerifiedFile{Name: x.name, Path: x.path, SHA256: hex.EncodeToString(x.sum[:]), Size: x.info.Size(), Modified: x.info.ModTime()}
}

// trusted turns what was verified elsewhere into extensions of this engine, if
// the files are still those.
func trusted(files []VerifiedFile) ([]extension, error) {
	out := make([]extension, len(files))
	for i, f := range files {
		changed := &ExtensionError{Name: f.Name, Path: f.Path, Reason: "changed since the server started",
			Remedy: "restart the server to check it again"}
		info, err := os.Stat(f.Path)
		if err != nil || info.Size() != f.Size || !info.ModTime().Equal(f.Modified) {
			return nil, changed
		}
		out[i] = extension{name: f.Name, path: f.Path, info: info}
		if n, err := hex.Decode(out[i].sum[:], []byte(f.SHA256)); err != nil || n != len(out[i].sum) {
			return nil, changed
		}
	}
	return out, nil
}
