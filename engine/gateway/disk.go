package gateway

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
)

const (
	diskLock  = "lock"
	diskTemp  = "writing" // the file that is being written; there is at most one
	diskQueue = 32        // maximum number of blocks that wait to be written
)

// disk stores blocks as files. The digest of a block's identity is the file's name, and the file
// ends in a seal, so that truncated, changed and renamed files are recognised. Failures to read or
// write never fail a request; a block that is not available here is read from its store.
//
// One goroutine writes and deletes files. Readers tolerate files that were deleted.
type disk struct {
	root      *os.Root
	lock      *os.File
	blockSize int64
	metrics   *metrics
	queue     chan diskBlock
	written   chan struct{} // closed when the writing goroutine has ended

	mu    sync.Mutex
	index *lru[digest, struct{}]
}

type diskBlock struct {
	name digest
	data []byte
}

type digest [sha256.Size]byte

// storeMark is the common prefix of the names of all blocks of one store.
type storeMark [8]byte

func markOf(identity string) storeMark {
	sum := sha256.Sum256([]byte(identity))
	return storeMark(sum[:len(storeMark{})])
}

// address returns the name of a block. Its fields are hashed with their lengths, so that they
// cannot be confused.
func (d *disk) address(b block) digest {
	h := sha256.New()
	for _, text := range []string{b.object.identity, b.object.name} {
		_ = binary.Write(h, binary.LittleEndian, int64(len(text))) // a hash never fails
		_, _ = io.WriteString(h, text)
	}
	_ = binary.Write(h, binary.LittleEndian, []int64{b.object.size, b.object.stamp, d.blockSize, b.index})
	name := digest(h.Sum(nil))
	mark := markOf(b.object.identity)
	copy(name[:], mark[:])
	return name
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealSize is the length of a seal.
const sealSize = sha256.Size + crc32.Size

// seal returns the end of a file: its name and a checksum of name and content. It detects
// accidental damage, not forgery: only this process's user can write to the folder. A cryptographic
// digest would take as long as sending the block.
func seal(name digest, data []byte) [sealSize]byte {
	sum := crc32.Update(crc32.Checksum(name[:], castagnoli), castagnoli, data)
	var out [sealSize]byte
	binary.LittleEndian.PutUint32(out[copy(out[:], name[:]):], sum)
	return out
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// openDisk takes over a folder with the blocks that an earlier process left.
func openDisk(dir string, most, blockSize int64, metrics *metrics) (*disk, error) {
	refuse := func(err error) error { return fmt.Errorf("%w: %w", ErrCacheDir, err) }
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
	d := &disk{root: root, blockSize: blockSize, metrics: metrics, queue: make(chan diskBlock, diskQueue),
		written: make(chan struct{}), index: newLRU[digest, struct{}](most)}
	if d.lock, err = root.OpenFile(diskLock, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, refuse(errors.Join(err, root.Close()))
	}
	if err = syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = d.adopt()
	}
	if err != nil {
		return nil, refuse(errors.Join(err, d.lock.Close(), root.Close()))
	}
	go d.writing()
	return d, nil
}

// adopt registers the files that have the name of a block, with the youngest as the most recently
// used. Their content is checked when it is read. Other files are ignored.
func (d *disk) adopt() error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && len(entry.Name()) == 2*sha256.Size {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, file := range files {
		var name digest
		if n, err := hex.Decode(name[:], []byte(file.Name())); err == nil && n == len(name) {
			d.keep(name, file.Size())
		}
	}
	return nil
}

// keep registers a file and deletes the files that it evicts.
func (d *disk) keep(name digest, size int64) {
	d.mu.Lock()
	gone := d.index.put(name, struct{}{}, size)
	used := d.index.used
	d.mu.Unlock()
	d.metrics.bytes.WithLabelValues("disk").Set(float64(used))
	for _, name := range gone {
		_ = d.root.Remove(name.String()) // adopted again at the next start
	}
}

// drop forgets a damaged file.
func (d *disk) drop(name digest, reason string) {
	d.mu.Lock()
	d.index.remove(name)
	d.metrics.bytes.WithLabelValues("disk").Set(float64(d.index.used))
	d.mu.Unlock()
	d.metrics.lost.WithLabelValues(reason).Inc()
	_ = d.root.Remove(name.String())
}

// retain deletes the blocks of stores whose mark is not in stores. A nil disk has no blocks.
func (d *disk) retain(stores map[storeMark]bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	gone := d.index.removeWhere(func(name digest) bool { return !stores[storeMark(name[:len(storeMark{})])] })
	d.metrics.bytes.WithLabelValues("disk").Set(float64(d.index.used))
	d.mu.Unlock()
	for _, name := range gone {
		_ = d.root.Remove(name.String()) // adopted and deleted again after the next start
	}
}

// has reports whether a block should exist. A nil disk has no blocks.
func (d *disk) has(b block) bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.index.has(d.address(b))
}

// read returns a block of the given size, if it exists and is intact.
func (d *disk) read(b block, size int64) ([]byte, bool) {
	name := d.address(b)
	d.mu.Lock()
	_, ok := d.index.get(name)
	d.mu.Unlock()
	if !ok {
		return nil, false
	}
	data, err := d.load(name, size)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file that does not exist was evicted meanwhile
		d.drop(name, "damaged")
	}
	return data, err == nil
}

func (d *disk) load(name digest, size int64) ([]byte, error) {
	file, err := d.root.Open(name.String())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() != size+sealSize {
		return nil, errors.Join(errors.New("not the size of the block"), err)
	}
	data := make([]byte, size+sealSize)
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, err
	}
	if [sealSize]byte(data[size:]) != seal(name, data[:size]) {
		return nil, errors.New("not the content of the block")
	}
	return data[:size:size], nil
}

// write queues a block to be written, unless the queue is full. It does not wait.
func (d *disk) write(b block, data []byte) {
	if d == nil {
		return
	}
	select {
	case d.queue <- diskBlock{d.address(b), data}:
	default:
		d.metrics.lost.WithLabelValues("busy").Inc()
	}
}

func (d *disk) writing() {
	defer close(d.written)
	for b := range d.queue {
		if err := d.store(b); err != nil {
			d.metrics.lost.WithLabelValues("failed").Inc()
			continue
		}
		d.keep(b.name, int64(len(b.data))+sealSize)
	}
}

// store writes a file completely before it gives it its name. The file is not synced: if a crash
// truncates it, its seal is missing.
func (d *disk) store(b diskBlock) error {
	file, err := d.root.OpenFile(diskTemp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	end := seal(b.name, b.data)
	_, err = file.Write(b.data)
	if err == nil {
		_, err = file.Write(end[:])
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return d.root.Rename(diskTemp, b.name.String())
}

// close writes the queued blocks and releases the folder. No block is written or read afterwards.
func (d *disk) close() error {
	close(d.queue)
	<-d.written
	return errors.Join(d.lock.Close(), d.root.Close())
}
