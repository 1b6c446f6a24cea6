package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"os"
	"path/filepath"
	"time"
)

// Directory writes messages to files, which an operator delivers: the default of a server
// without a mail server. A file holds links with tokens, so only its owner can read it.
type Directory struct {
	path string
	from *netmail.Address
	log  *slog.Logger
	now  func() time.Time
}

// NewDirectory returns a sender that writes .eml files to a directory, which it creates
// with the first message. The path of each file is logged.
func NewDirectory(path, from string, log *slog.Logger) (*Directory, error) {
	address, err := ParseFrom(from)
	if err != nil {
		return nil, err
	}
	return &Directory{path: path, from: address, log: log, now: time.Now}, nil
}

// Send implements [Sender]. A file appears under its name with its whole content.
func (d *Directory) Send(ctx context.Context, m Message) error {
	encoded, err := m.encode(d.from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("directory of e-mails: %w", err)
	}
	file, err := os.CreateTemp(d.path, ".writing-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write e-mail: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }() // fails after the rename
	_, err = encoded.WriteTo(file)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write e-mail: %w", err)
	}
	path := filepath.Join(d.path, d.now().UTC().Format("20060102T150405.000000Z")+"-"+rand.Text()[:8]+".eml")
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("write e-mail: %w", err)
	}
	d.log.InfoContext(ctx, "e-mail written", "path", path)
	return nil
}
