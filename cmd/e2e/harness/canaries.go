package harness

import (
	"bufio"
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Canaries holds secrets by description, in each encoding in which they could appear.
type Canaries map[string][]byte

// Text plants a secret as its text.
func (c Canaries) Text(what, secret string) { c[what] = []byte(secret) }

// key plants a key: as its bytes, in hexadecimal and in base64.
func (c Canaries) key(what string, key []byte) {
	c[what] = key
	c.Text(what+" in hexadecimal", hex.EncodeToString(key))
	c.Text(what+" in base64", base64.RawStdEncoding.EncodeToString(key)[:40])
}

// KeyFile plants the keys of a key file, and what the keys of masks are derived
// from. Those of a table itself are in the statements that hash its values.
func (c Canaries) KeyFile(t *testing.T, path, org string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct {
		Keys struct {
			Key []struct{ KeyData struct{ Value string } }
		}
		MaskRoot []byte
	}
	require.NoError(t, json.Unmarshal(content, &file))
	require.Len(t, file.Keys.Key, 1)
	entry := file.Keys.Key[0].KeyData.Value
	c.Text("the entry of the key file", entry)
	value, err := base64.StdEncoding.DecodeString(entry)
	require.NoError(t, err)
	c.key("the key of credentials", value[len(value)-32:])
	c.key("the root of all masks", file.MaskRoot)
	ofOrg, err := hkdf.Expand(sha256.New, file.MaskRoot, "organisation "+org, 32)
	require.NoError(t, err)
	c.key("the key of an organisation's masks", ofOrg)
}

// In lists the canaries that text holds.
func (c Canaries) In(text []byte) []string {
	var found []string
	for what, secret := range c {
		if bytes.Contains(text, secret) {
			found = append(found, what)
		}
	}
	return found
}

// MemoryHolds searches the writable memory of a process for a text.
func MemoryHolds(t *testing.T, pid, text string) bool {
	t.Helper()
	return len(MemoryOf(t, pid, Canaries{"": []byte(text)})) > 0
}

// MemoryOf lists the canaries that the writable memory of a process holds. One that has ended
// holds none.
func MemoryOf(t *testing.T, pid string, secrets Canaries) []string {
	t.Helper()
	ended := func(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }
	maps, err := os.ReadFile("/proc/" + pid + "/maps")
	if ended(err) {
		return nil
	}
	require.NoError(t, err)
	memory, err := os.Open("/proc/" + pid + "/mem")
	if ended(err) {
		return nil
	}
	require.NoError(t, err)
	defer memory.Close()
	pages, err := os.Open("/proc/" + pid + "/pagemap")
	if ended(err) {
		return nil
	}
	require.NoError(t, err)
	defer pages.Close()
	var found []string
	piece := make([]byte, 1<<20)
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		var from, to int64
		var mode string
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &mode); n == 3 && strings.HasPrefix(mode, "rw") {
			found = append(found, sectionHolds(memory, pages, piece, from, to, secrets)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// sectionHolds searches the pages of a section that were written, in pieces that
// overlap. It leaves the others alone: they hold nothing, and a read would create
// them and so count against the memory of the process.
func sectionHolds(memory, pages io.ReaderAt, piece []byte, from, to int64, secrets Canaries) (found []string) {
	const overlap = 4 << 10
	for start, end := writtenRun(pages, from, to); start < end; start, end = writtenRun(pages, end, to) {
		for at := start; at < end; at += int64(len(piece)) - overlap {
			n, _ := memory.ReadAt(piece[:min(int64(len(piece)), end-at)], at) // what cannot be read holds nothing
			found = append(found, secrets.In(piece[:n])...)
		}
	}
	return found
}

// writtenRun returns the first run of pages between two addresses that are in memory
// or swapped out, by the pagemap of their process. The run is empty if there is none.
func writtenRun(pages io.ReaderAt, from, to int64) (start, end int64) {
	const entry, flags = 8, 0xC0 // bits 63 and 62, which are in the last byte
	size := int64(os.Getpagesize())
	start, end = to, to
	entries := make([]byte, 1<<10*entry)
	for at := from; at < to; at += int64(len(entries)) / entry * size {
		n, _ := pages.ReadAt(entries, at/size*entry)
		for i := range min(int64(len(entries))/entry, (to-at)/size) {
			// A page that the pagemap does not describe counts as written.
			written := (i+1)*entry > int64(n) || entries[(i+1)*entry-1]&flags != 0
			switch page := at + i*size; {
			case written && start == to:
				start = page
			case !written && start < to:
				return start, page
			}
		}
	}
	return start, end
}
