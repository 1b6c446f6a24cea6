package scan

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
)

// maxChecked bounds the files that Checked remembers, each with about fifty bytes.
const maxChecked = 100_000

// checkedAtOnce bounds the files that are checked together. A statement that ends in between leaves
// fewer files to the next one.
const checkedAtOnce = 1000

// Checked remembers the files whose types fit the columns of their table. Only files without a
// fault are remembered: they are repaired under their names. The zero value is ready for use, and
// several instances may share it.
type Checked struct {
	mu    sync.Mutex
	files map[checkedFile][]string
}

// checkedFile identifies a file and the columns that it was checked for.
type checkedFile [16]byte

// widened returns the columns of a file whose values the reader converts. It returns false if the
// file was not checked.
func (c *Checked) widened(f checkedFile) ([]string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names, ok := c.files[f]
	return names, ok
}

func (c *Checked) add(f checkedFile, widened []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil || len(c.files) >= maxChecked {
		c.files = make(map[checkedFile][]string)
	}
	c.files[f] = widened
}

// checkFiles checks that the types of every file fit those of the columns, and records the columns
// that the reader converts. first describes the first file.
//
// DuckDB itself checks the types of the first file only, and converts the values of the others if it
// can: it would read 1.7 as 2.
func (v *Views) checkFiles(s *fileScan, first *native.Description) error {
	if s.parts != nil {
		return v.checkForms(s, s.forms, nil, first)
	}
	unknown, keys := v.unknownFiles(s)
	for some := range slices.Chunk(unknown, checkedAtOnce) {
		forms, err := []fileForm{{files: some}}, error(nil)
		if len(some) > 1 {
			forms, err = v.formsOf(s, some)
		}
		if err == nil {
			err = v.checkForms(s, forms, keys, first)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkForms is checkFiles for the files of some forms. keys are those of all files of the scan; nil
// means that the files are not remembered.
func (v *Views) checkForms(s *fileScan, forms []fileForm, keys []checkedFile, first *native.Description) error {
	for _, form := range forms {
		widened, err := v.checkForm(s, form, first)
		if err != nil {
			return err
		}
		s.widen(widened)
		for _, n := range form.files {
			if keys != nil {
				v.checked.add(keys[n], widened)
			}
		}
	}
	return nil
}

// checkForm checks the types of the files of one form, and returns the columns that the reader
// converts.
func (v *Views) checkForm(s *fileScan, form fileForm, first *native.Description) ([]string, error) {
	at := form.files[0]
	described := first
	if at > 0 {
		var err error
		if described, err = v.inst.Describe("SELECT * FROM " + ReadParquet(s.paths[at:at+1], s.options)); err != nil {
			return nil, err
		}
	}
	return v.checkTypes(s, s.paths[at], described)
}

// unknownFiles returns the numbers of the files that were not checked yet, and the keys of all
// files. It records the columns that the reader converts in the others.
func (v *Views) unknownFiles(s *fileScan) (unknown []int, keys []checkedFile) {
	columns := s.digest()
	keys = make([]checkedFile, len(s.paths))
	for i, path := range s.literal {
		keys[i] = keyOf(columns, path, s.stamps[i])
		widened, known := v.checked.widened(keys[i])
		if !known {
			unknown = append(unknown, i)
			continue
		}
		s.widen(widened)
	}
	return unknown, keys
}

// digest identifies the columns for which the scan's files are checked.
func (s *fileScan) digest() []byte {
	h := sha256.New()
	text := func(text string) { _, _ = io.WriteString(h, strconv.Itoa(len(text))+":"+text) }
	text(s.options + strconv.FormatBool(s.parts == nil))
	for i, c := range s.stored {
		text(s.inFile[i].Name)
		text(c.Name)
		text(c.Type.String())
		if s.ids != nil {
			text(strconv.Itoa(s.ids[i]))
		}
	}
	return h.Sum(nil)
}

// keyOf identifies a file for the columns with the given digest. A file that was replaced has
// another key: a local one, if its size or time shows it, a remote one, if the log does.
func keyOf(columns []byte, path string, stamp engine.FileStamp) checkedFile {
	if !sandbox.IsRemote(path) {
		if info, err := os.Stat(path); err == nil {
			stamp = engine.FileStamp{Size: info.Size(), Modified: info.ModTime().UnixNano()}
		}
	}
	text := append(append(slices.Clone(columns), path...), 0)
	text = binary.LittleEndian.AppendUint64(text, uint64(stamp.Size))
	text = binary.LittleEndian.AppendUint64(text, uint64(stamp.Modified))
	sum := sha256.Sum256(text)
	return checkedFile(sum[:16])
}
