package parquetcut

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
)

// target counts what is written.
type target struct {
	w  *bufio.Writer
	at int64
	// limit is how long it may become.
	limit int64
	// stored says that pages which are cut need not be compressed again.
	stored bool
}

func newTarget(w io.Writer, limit int64) *target {
	return &target{w: bufio.NewWriterSize(w, 1<<20), limit: limit}
}

// room is [ErrNotCut] where n more bytes make the target too long.
func (t *target) room(n int64) error {
	if n > t.limit-t.at {
		return fmt.Errorf("%w: it would become longer than %d bytes", ErrNotCut, t.limit)
	}
	return nil
}

func (t *target) write(b []byte) error {
	if err := t.room(int64(len(b))); err != nil {
		return err
	}
	n, err := t.w.Write(b)
	t.at += int64(n)
	if err != nil {
		return fmt.Errorf("writing a Parquet file: %w", err)
	}
	return nil
}

func (t *target) copy(from io.Reader, n int64) error {
	if err := t.room(n); err != nil {
		return err
	}
	done, err := io.CopyN(t.w, from, n)
	t.at += done
	if err != nil {
		return fmt.Errorf("copying a Parquet file: %w", err)
	}
	return nil
}

// source reads a file forwards, in one go as long as nothing lies behind.
type source struct {
	ctx     context.Context
	file    *File
	at, end int64
	body    io.Closer
	r       *bufio.Reader
}

// maxSkip is up to how many bytes are read to get to a later place, rather than asked for
// anew.
const maxSkip = 1 << 20

// seek goes to a place from which is read up to end at most.
func (s *source) seek(to, end int64) error {
	if s.body != nil && to >= s.at && to-s.at <= maxSkip && end <= s.end {
		return s.skip(to - s.at)
	}
	if err := s.close(); err != nil {
		return err
	}
	body, err := s.file.bucket.GetRange(s.ctx, s.file.name, to, end-to)
	if err != nil {
		return err
	}
	s.body, s.at, s.end = body, to, end
	s.r = bufio.NewReaderSize(body, 1<<20)
	return nil
}

func (s *source) close() error {
	if s.body == nil {
		return nil
	}
	err := s.body.Close()
	s.body = nil
	return err
}

// Read implements io.Reader.
func (s *source) Read(b []byte) (int, error) {
	n, err := s.r.Read(b)
	s.at += int64(n)
	return n, err
}

func (s *source) skip(n int64) error {
	for n > 0 {
		step, err := s.r.Discard(int(min(n, 1<<30)))
		s.at += int64(step)
		if err != nil {
			return fmt.Errorf("reading a Parquet file: %w", err)
		}
		n -= int64(step)
	}
	return nil
}

// take reads n bytes into memory.
func (s *source) take(n int64) ([]byte, error) {
	if n > maxPage {
		return nil, fmt.Errorf("%w: a page of %d bytes", ErrNotCut, n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(s, b)
	return b, err
}

// header reads the header of a page that lies before end, and its bytes.
func (s *source) header(end int64) (structure, []byte, error) {
	for size := int64(512); ; size *= 8 {
		b, err := s.r.Peek(int(min(size, end-s.at, 1<<20)))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, nil, fmt.Errorf("reading a Parquet file: %w", err)
		}
		header, n, err := decode(b)
		if err == nil {
			b, err := s.take(int64(n))
			return header, b, err
		}
		if int64(len(b)) < size || size > 64<<10 {
			return nil, nil, err
		}
	}
}
