package csvinfer

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/lakewarden/lakewarden/engine/ingest/contentcoding"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// Spooled is an upload on disk, decompressed.
type Spooled struct {
	// File is the name of the file in its directory, Bytes its length.
	File  string
	Bytes int64
	// Coding is the way in which the upload was compressed.
	Coding contentcoding.Coding
	// text is what was found about the encoding.
	text inspector
}

// Spool stores an upload of at most limit bytes, decompressed, in a directory. If coding is
// Identity, the first bytes decide whether the upload is compressed. Errors are those of the
// context, of body and of writing, [*staging.CutError] for an empty upload,
// [*staging.SyntaxError] and [*staging.LimitError]; the directory then holds nothing of this
// call.
func Spool(ctx context.Context, body io.Reader, coding contentcoding.Coding, dir string, limit int64) (*Spooled, error) {
	in := bufio.NewReaderSize(body, 64<<10)
	if coding == contentcoding.Identity {
		head, err := in.Peek(contentcoding.MarkBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		coding = contentcoding.Detect(head)
	}
	decoded := contentcoding.NewReader(in, coding)
	defer func() { _ = decoded.Close() }()
	meter := staging.NewMeter(ctx, decoded, limit)
	file, err := os.CreateTemp(dir, "upload-*.csv")
	if err != nil {
		return nil, fmt.Errorf("spooling an upload: %w", err)
	}
	out := &Spooled{File: filepath.Base(file.Name()), Coding: coding}
	if err = out.copy(file, meter); err == nil {
		err = file.Close()
	}
	if err != nil {
		_ = file.Close()
		_ = os.Remove(file.Name())
		return nil, meter.Cut(err, staging.CSV)
	}
	return out, nil
}

func (s *Spooled) copy(file io.Writer, in *staging.Meter) error {
	_, err := io.CopyBuffer(io.MultiWriter(file, &s.text), struct{ io.Reader }{in}, make([]byte, 256<<10))
	s.Bytes = in.Offset()
	switch {
	case err != nil:
		return err
	case s.Bytes == 0:
		return staging.ErrTruncated
	}
	return nil
}

// Encoding returns the encoding of the file: the given one, or what its bytes are. The error is
// a [*staging.SyntaxError] for a file that is not text.
func (s *Spooled) Encoding(given csvbody.Encoding) (csvbody.Encoding, error) {
	found, err := s.text.encoding()
	if given == csvbody.UTF16 || given == "" && found == csvbody.UTF16 {
		return csvbody.UTF16, nil
	}
	if given != "" {
		found = given
	}
	return found, err
}

// sampleBytes bounds the beginning of a file that the engine reads.
const sampleBytes = 4 << 20

// Sample finds the table in the first whole lines of a file, and writes the lines of the table as
// UTF-8 to path. Given options decide where the table is. Sample writes nothing if there are no lines.
func Sample(body io.Reader, encoding csvbody.Encoding, given csvbody.Options, path string) (Lead, error) {
	text, err := io.ReadAll(io.LimitReader(encoding.NewReader(body), sampleBytes))
	var syntax *staging.SyntaxError
	if err != nil && !errors.As(err, &syntax) && !errors.Is(err, staging.ErrTruncated) {
		return Lead{}, err
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if len(text) >= sampleBytes-len("\uFEFF") {
		text = text[:bytes.LastIndexByte(text, '\n')+1]
	}
	lead, table := findLead(text, given)
	if len(table) == 0 {
		return lead, nil
	}
	return lead, os.WriteFile(path, table, 0o600)
}
