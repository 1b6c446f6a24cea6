package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lakewarden/lakewarden/auth/mail"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// mailDrain bounds the sending of the e-mails that wait at a shutdown, so that a slow mail
// server leaves time to close the other parts.
const mailDrain = 5 * time.Second

// newMails starts the queue of e-mails. Those that wait when the service closes are sent
// first, as far as time allows.
func newMails(ctx context.Context, settings config.Settings, log *slog.Logger, s *Service) (*mail.Queue, error) {
	var sender mail.Sender
	var err error
	if settings.SMTPURL == "" {
		sender, err = mail.NewDirectory(settings.MailDir, settings.MailFrom, log)
	} else {
		sender, err = mail.NewSMTP(settings.SMTPURL, settings.MailFrom, mail.Options{})
	}
	if err != nil {
		return nil, fmt.Errorf("e-mails: %w", err)
	}
	queue := mail.NewQueue(ctx, sender, log, mail.QueueOptions{})
	s.onClose(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, mailDrain)
		defer cancel()
		return queue.Close(ctx)
	})
	return queue, nil
}
