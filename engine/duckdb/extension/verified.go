package extension

import (
	"encoding/hex"
	"os"
	"time"
)

// Verified describes an extension file that passed the signature check, for another
// process of this server.
type Verified struct {
	Name     string    `json:"name"`
	Path     string    `json:"path"`
	SHA256   string    `json:"sha256"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
}

// Verified returns the description of x for another process.
func (x File) Verified() Verified {
	return Verified{Name: x.Name, Path: x.Path, SHA256: hex.EncodeToString(x.sum[:]), Size: x.info.Size(), Modified: x.info.ModTime()}
}

// Trust returns the files that another process verified, if they have not changed since.
func Trust(files []Verified) ([]File, error) {
	out := make([]File, len(files))
	for i, f := range files {
		changed := &Error{Name: f.Name, Path: f.Path, Reason: "changed since the server started",
			Remedy: "restart the server to check it again"}
		info, err := os.Stat(f.Path)
		if err != nil || info.Size() != f.Size || !info.ModTime().Equal(f.Modified) {
			return nil, changed
		}
		out[i] = File{Name: f.Name, Path: f.Path, info: info}
		if n, err := hex.Decode(out[i].sum[:], []byte(f.SHA256)); err != nil || n != len(out[i].sum) {
			return nil, changed
		}
	}
	return out, nil
}
