package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"
)

// ErrMessage is returned for a message that cannot be sent to anybody: a retry does not
// help.
var ErrMessage = errors.New("e-mail is not valid")

// Message is an e-mail to one recipient.
type Message struct {
	// To is a bare address, without a display name.
	To string
	// Subject is one line.
	Subject string
	// Text and HTML hold the same content.
	Text, HTML string
}

// Sender sends one message. Implementations are safe for concurrent use. They return an
// error that wraps [ErrMessage] or [ErrRefused] if a retry does not help.
type Sender interface {
	Send(ctx context.Context, message Message) error
}

// Validate returns an error that wraps [ErrMessage] unless the message has one bare ASCII
// address, one line of subject, and both texts.
func (m Message) Validate() error {
	parsed, err := netmail.ParseAddress(m.To)
	switch {
	case err != nil, parsed.Name != "", parsed.Address != m.To, strings.ContainsFunc(m.To, notInAddress):
		return fmt.Errorf("%w: recipient", ErrMessage)
	case m.Subject == "", len(m.Subject) > 500, !utf8.ValidString(m.Subject), strings.ContainsFunc(m.Subject, unicode.IsControl):
		return fmt.Errorf("%w: subject", ErrMessage)
	case m.Text == "" || m.HTML == "" || !utf8.ValidString(m.Text) || !utf8.ValidString(m.HTML):
		return fmt.Errorf("%w: text", ErrMessage)
	}
	return nil
}

// notInAddress reports whether a character is not allowed in an address, although it may
// be in quoted local parts.
func notInAddress(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune("\"(),:;<>[]\\", c)
}

// encode returns the message with its headers.
func (m Message) encode(from *netmail.Address) (*gomail.Msg, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	out := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	out.FromMailAddress(from)
	if err := out.To(m.To); err != nil {
		return nil, fmt.Errorf("%w: recipient", ErrMessage)
	}
	out.Subject(m.Subject)
	out.SetDate()
	_, domain, _ := strings.Cut(from.Address, "@")
	out.SetMessageIDWithValue(rand.Text() + "@" + domain)
	// Automatic replies, such as those of people on leave, are not sent to such messages.
	out.SetGenHeader("Auto-Submitted", "auto-generated")
	out.SetBodyString(gomail.TypeTextPlain, m.Text)
	out.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	return out, nil
}
