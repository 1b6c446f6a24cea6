package login

import (
	"context"
	"fmt"
	"time"

	"github.com/lakewarden/lakewarden/auth/mail"
)

// mailDrain bounds the sending of the e-mails that wait at a shutdown, so that a slow mail
// server leaves time to close the other parts.
const mailDrain = 5 * time.Second

// newMails starts the queue of e-mails. When it closes, it attempts those that have not
// been attempted yet, as far as time allows.
func newMails(ctx context.Context, o Options) (*mail.Queue, error) {
	var sender mail.Sender
	var err error
	if o.Settings.SMTPURL == "" {
		sender, err = mail.NewDirectory(o.Settings.MailDir, o.Settings.MailFrom, o.Logger)
	} else {
		sender, err = mail.NewSMTP(o.Settings.SMTPURL, o.Settings.MailFrom, mail.Options{})
	}
	if err != nil {
		return nil, fmt.Errorf("e-mails: %w", err)
	}
	queue := mail.NewQueue(ctx, sender, o.Logger, mail.QueueOptions{})
	o.Parts.OnClose(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, mailDrain)
		defer cancel()
		return queue.Close(ctx)
	})
	return queue, nil
}
