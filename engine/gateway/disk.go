package gateway

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const (
	diskLock   = "lock"
	diskPrefix = "block-"
	diskQueue  = 32 // maximum number of blocks that wait to be written
)

// disk stores blocks as files. The files are encrypted with a key that only this process has, in
// memory: nobody can read them after its end, and the next process deletes them. A file that was
// truncated, changed or renamed does not decrypt. Failures to read or write never fail a request;
// a block that is not available here is read from its store.
//
// One goroutine writes files. Readers tolerate files that were deleted.
type disk struct {
	root    *os.Root
	lock    *os.File
	seal    cipher.AEAD
	metrics *metrics
	queue   chan *diskBlock
	written chan struct{} // closed when the writing goroutine has ended

	mu      sync.Mutex
	index   *lru[block, fileNumber]
	pending map[*diskBlock]struct{}
	last    fileNumber
}

// fileNumber names one file. It is never used again, so that it is also the nonce of the file.
type fileNumber uint64

// diskBlock is a block that waits to be written.
type diskBlock struct {
	block  block
	data   []byte
	number fileNumber
	// forgotten is guarded by disk.mu.
	forgotten bool
}

func (n fileNumber) name() string { return diskPrefix + strconv.FormatUint(uint64(n), 36) }

func (n fileNumber) nonce(size int) []byte {
	nonce := make([]byte, size)
	binary.BigEndian.PutUint64(nonce[size-8:], uint64(n))
	return nonce
}

// openDisk empties a folder and uses it. An earlier process can have left blocks there.
func openDisk(dir string, most int64, metrics *metrics) (*disk, error) {
	refuse := func(err error) error { return fmt.Errorf("%w: %w", ErrCacheDir, err) }
	seal, err := newSeal()
	if err != nil {
		return nil, refuse(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, refuse(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, refuse(err)
	}
	// Chmod fails for a folder of another user, who could put files into it.
	if err := root.Chmod(".", 0o700); err != nil {
		return nil, refuse(errors.Join(err, root.Close()))
	}
	d := &disk{root: root, seal: seal, metrics: metrics, queue: make(chan *diskBlock, diskQueue),
		written: make(chan struct{}), index: newLRU[block, fileNumber](most), pending: map[*diskBlock]struct{}{}}
	if d.lock, err = root.OpenFile(diskLock, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, refuse(errors.Join(err, root.Close()))
	}
	if err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = d.empty()
	}
	if err != nil {
		return nil, refuse(errors.Join(err, d.lock.Close(), root.Close()))
	}
	go d.writing()
	return d, nil
}

// newSeal returns a cipher with a new key.
func newSeal() (cipher.AEAD, error) {
	var key [32]byte
	rand.Read(key[:])
	blocks, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(blocks)
}

// empty deletes every block. Other files are ignored.
func (d *disk) empty() error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if ownFile(entry.Name()) {
			if err := d.root.RemoveAll(entry.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownFile reports whether a file holds a block. Earlier versions of this program named a file by a
// digest, and by "writing" before it was complete.
func ownFile(name string) bool {
	digest, err := hex.DecodeString(name)
	return strings.HasPrefix(name, diskPrefix) || name == "writing" || err == nil && len(digest) == 32
}

// drop forgets a damaged file.
func (d *disk) drop(b block, number fileNumber, reason string) {
	d.mu.Lock()
	if now, ok := d.index.get(b); ok && now == number {
		d.index.remove(b)
	}
	d.measure()
	d.mu.Unlock()
	d.metrics.lost.WithLabelValues(reason).Inc()
	d.remove(number)
}

// forget deletes the blocks of the objects for which match is true. A nil disk has no blocks.
func (d *disk) forget(match func(object) bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	gone := d.index.removeWhere(func(b block) bool { return match(b.object) })
	for waiting := range d.pending {
		waiting.forgotten = waiting.forgotten || match(waiting.block.object)
	}
	d.measure()
	d.mu.Unlock()
	d.remove(gone...)
}

// measure reports the size of the index. The caller holds mu.
func (d *disk) measure() { d.metrics.bytes.WithLabelValues("disk").Set(float64(d.index.used)) }

// remove deletes files. A file that cannot be deleted remains unreadable to others, and is deleted
// when the next process starts.
func (d *disk) remove(files ...fileNumber) {
	for _, number := range files {
		_ = d.root.Remove(number.name())
	}
}

// has reports whether a block should exist. A nil disk has no blocks.
func (d *disk) has(b block) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.index.has(b)
}

// read returns a block of the given size, if it exists and is intact.
func (d *disk) read(b block, size int64) ([]byte, bool) {
	d.mu.Lock()
	number, ok := d.index.get(b)
	d.mu.Unlock()
	if !ok {
		return nil, false
	}
	data, err := d.load(number, size)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file that does not exist was evicted meanwhile
		d.drop(b, number, "damaged")
	}
	return data, err == nil
}

func (d *disk) load(number fileNumber, size int64) ([]byte, error) {
	file, err := d.root.Open(number.name())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sealed := size + int64(d.seal.Overhead())
	if info, err := file.Stat(); err != nil || info.Size() != sealed {
		return nil, errors.Join(errors.New("not the size of the block"), err)
	}
	data := make([]byte, sealed)
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, err
	}
	data, err = d.seal.Open(data[:0], number.nonce(d.seal.NonceSize()), data, nil)
	return data[:len(data):len(data)], err
}

// write queues a block to be written, unless the queue is full. It does not wait.
func (d *disk) write(b block, data []byte) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	waiting := &diskBlock{block: b, data: data, number: d.last}
	select {
	case d.queue <- waiting:
		d.pending[waiting] = struct{}{}
	default:
		d.metrics.lost.WithLabelValues("busy").Inc()
	}
}

func (d *disk) writing() {
	defer close(d.written)
	var sealed []byte
	for b := range d.queue {
		sealed = d.seal.Seal(sealed[:0], b.number.nonce(d.seal.NonceSize()), b.data, nil)
		d.keep(b, d.store(b.number, sealed), int64(len(sealed)))
	}
}

// store writes a file. It is not synced.
func (d *disk) store(number fileNumber, sealed []byte) error {
	file, err := d.root.OpenFile(number.name(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(sealed)
	return errors.Join(err, file.Close())
}

// keep registers a file that was stored, and deletes the files that it evicts or replaces. A block
// that was forgotten meanwhile is deleted.
func (d *disk) keep(b *diskBlock, failed error, size int64) {
	var gone []fileNumber
	d.mu.Lock()
	delete(d.pending, b)
	switch {
	case failed != nil:
		d.metrics.lost.WithLabelValues("failed").Inc()
		gone = append(gone, b.number)
	case b.forgotten:
		gone = append(gone, b.number)
	default:
		if former, ok := d.index.get(b.block); ok {
			gone = append(gone, former)
		}
		gone = append(gone, d.index.put(b.block, b.number, size)...)
	}
	d.measure()
	d.mu.Unlock()
	d.remove(gone...)
}

// close deletes all blocks and releases the folder. No block is written or read afterwards. A folder
// that somebody deleted meanwhile has no blocks.
func (d *disk) close() error {
	close(d.queue)
	<-d.written
	err := d.empty()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, d.lock.Close(), d.root.Close())
}
