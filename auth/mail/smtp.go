package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/textproto"
	"net/url"
	"strconv"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// ErrRefused is returned if the server refused the message or the credential for good. A
// retry does not help.
var ErrRefused = errors.New("mail server refused the e-mail")

// DefaultTimeout bounds the sending of one message.
const DefaultTimeout = 30 * time.Second

// Options are the optional parts of an [SMTP] sender; the zero value works.
type Options struct {
	// Timeout bounds the sending of one message; 0 means [DefaultTimeout].
	Timeout time.Duration
	// RootCAs are the authorities of the server's certificate; nil means those of the
	// system.
	RootCAs *x509.CertPool
	// Dial connects to the server; nil means a connection without a proxy.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// SMTP sends messages to one mail server, with a connection for each.
type SMTP struct {
	from    *netmail.Address
	server  server
	timeout time.Duration
	roots   *x509.CertPool
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// server is a parsed URL of a mail server.
type server struct {
	host           string
	port           int
	implicitTLS    bool
	user, password string
}

// NewSMTP returns a sender for the server of a URL: smtp://user:password@host:587, which
// uses STARTTLS, or smtps://user:password@host:465. User and password are optional, and so
// is the port.
func NewSMTP(serverURL, from string, o Options) (*SMTP, error) {
	parsed, err := parseServer(serverURL)
	if err != nil {
		return nil, err
	}
	address, err := ParseFrom(from)
	if err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{}).DialContext
	}
	return &SMTP{from: address, server: parsed, timeout: o.Timeout, roots: o.RootCAs, connect: o.Dial}, nil
}

// CheckServer returns an error if a text is not the URL of a mail server. The error does
// not contain the text, which may hold a password.
func CheckServer(serverURL string) error {
	_, err := parseServer(serverURL)
	return err
}

func parseServer(text string) (s server, err error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "smtp" && u.Scheme != "smtps", u.Hostname() == "", u.Path != "" && u.Path != "/", u.RawQuery != "",
		u.Fragment != "":
		return s, errors.New("must be smtp://[user:password@]host[:port] or smtps://…")
	}
	s = server{host: u.Hostname(), port: 587, implicitTLS: u.Scheme == "smtps", user: u.User.Username()}
	s.password, _ = u.User.Password()
	if s.implicitTLS {
		s.port = 465
	}
	if u.Port() != "" {
		if s.port, err = strconv.Atoi(u.Port()); err != nil || s.port < 1 || s.port > 65535 {
			return s, errors.New("has an invalid port")
		}
	}
	return s, nil
}

// ParseFrom parses the sender of messages: an address with or without a display name.
func ParseFrom(text string) (*netmail.Address, error) {
	address, err := netmail.ParseAddress(text)
	if err != nil {
		return nil, errors.New("must be an e-mail address such as Name <name@example.com>")
	}
	return address, nil
}

// loopback reports whether the server is on this machine.
func (s server) loopback() bool {
	address, err := netip.ParseAddr(s.host)
	return s.host == "localhost" || err == nil && address.IsLoopback()
}

// Send implements [Sender].
func (s *SMTP) Send(ctx context.Context, m Message) error {
	encoded, err := m.encode(s.from)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel() // closes the connection
	client, err := gomail.NewClient(s.server.host, s.options(ctx)...)
	if err != nil {
		return fmt.Errorf("mail server: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, encoded)
	if err != nil && encoded.IsDelivered() {
		return nil // the server accepted the message; only the end of the connection failed
	}
	return failure(ctx, err)
}

// options returns the options of the library for one connection, which is closed when
// ctx ends: the library bounds each step only.
func (s *SMTP) options(ctx context.Context) []gomail.Option {
	config := &tls.Config{ServerName: s.server.host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}
	// The connection of smtps:// is encrypted before the library sees it.
	policy := gomail.TLSMandatory
	if s.server.implicitTLS || s.server.loopback() {
		policy = gomail.TLSOpportunistic
	}
	options := []gomail.Option{
		gomail.WithPort(s.server.port), gomail.WithTimeout(s.timeout), gomail.WithTLSConfig(config), gomail.WithTLSPolicy(policy),
		gomail.WithDialContextFunc(func(dialCtx context.Context, network, address string) (net.Conn, error) {
			connection, err := s.dial(dialCtx, network, address, config)
			if err == nil {
				context.AfterFunc(ctx, func() { _ = connection.Close() })
			}
			return connection, err
		}),
	}
	if s.server.user != "" {
		options = append(options, gomail.WithUsername(s.server.user), gomail.WithPassword(s.server.password),
			gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover))
	}
	return options
}

func (s *SMTP) dial(ctx context.Context, network, address string, config *tls.Config) (net.Conn, error) {
	connection, err := s.connect(ctx, network, address)
	if err != nil || !s.server.implicitTLS {
		return connection, err
	}
	encrypted := tls.Client(connection, config)
	if err := encrypted.HandshakeContext(ctx); err != nil {
		_ = connection.Close()
		return nil, err
	}
	return encrypted, nil
}

// failure wraps an error of the library. Replies 5xx are final.
func failure(ctx context.Context, err error) error {
	var reply *textproto.Error
	var sending *gomail.SendError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("send e-mail: %w", ctx.Err())
	case errors.As(err, &reply) && reply.Code >= 500, errors.As(err, &sending) && sending.ErrorCode() >= 500:
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return fmt.Errorf("send e-mail: %w", err)
}
