package mail_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/mail"
)

const from = "Lakewarden <lakewarden@acme.example>"

var hello = mail.Message{To: "ada@example.com", Subject: "Größe", Text: "Guten Tag\n", HTML: "<p>Guten Tag</p>"}

// mailbox is a mail server that accepts messages from one user.
type mailbox struct {
	user, password string
	refuse         *smtp.SMTPError // for recipients
	stall          chan struct{}   // if set, messages wait for it

	mu       sync.Mutex
	received []string
	rcpts    []string
}

func (b *mailbox) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, encrypted := c.TLSConnectionState()
	return &visit{box: b, encrypted: encrypted}, nil
}

// quiet discards the log of the server.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

// visit is a connection to a mailbox.
type visit struct {
	box       *mailbox
	encrypted bool
	known     bool
}

func (v *visit) AuthMechanisms() []string { return []string{sasl.Plain} }

func (v *visit) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != v.box.user || password != v.box.password {
			return smtp.ErrAuthFailed
		}
		v.known = true
		return nil
	}), nil
}

func (v *visit) Mail(string, *smtp.MailOptions) error {
	if v.box.user != "" && !v.known {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (v *visit) Rcpt(to string, _ *smtp.RcptOptions) error {
	if v.box.refuse != nil {
		return v.box.refuse
	}
	v.box.mu.Lock()
	defer v.box.mu.Unlock()
	v.box.rcpts = append(v.box.rcpts, to)
	return nil
}

func (v *visit) Data(r io.Reader) error {
	if v.box.stall != nil {
		<-v.box.stall
	}
	text, err := io.ReadAll(r)
	v.box.mu.Lock()
	defer v.box.mu.Unlock()
	v.box.received = append(v.box.received, string(text))
	return err
}

func (v *visit) Reset()        {}
func (v *visit) Logout() error { return nil }

// start serves a mailbox and returns its port. config is nil for a server without TLS.
func (b *mailbox) start(t *testing.T, config *tls.Config, implicit bool) (port string) {
	server := smtp.NewServer(b)
	server.Domain, server.ErrorLog = "localhost", quiet{}
	server.AllowInsecureAuth = true
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if implicit {
		l = tls.NewListener(l, config)
	} else {
		server.TLSConfig = config
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// authority returns a certificate for localhost and the pool that trusts it.
func authority(t *testing.T) (*tls.Config, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, pool
}

func sender(t *testing.T, url string, o mail.Options) *mail.SMTP {
	s, err := mail.NewSMTP(url, from, o)
	require.NoError(t, err)
	return s
}

func TestMessagesArriveOverTLS(t *testing.T) {
	config, pool := authority(t)
	for scheme, implicit := range map[string]bool{"smtp": false, "smtps": true} {
		t.Run(scheme, func(t *testing.T) {
			box := &mailbox{user: "mailer", password: "p@ss:word"}
			port := box.start(t, config, implicit)
			s := sender(t, scheme+"://mailer:p%40ss%3Aword@localhost:"+port, mail.Options{RootCAs: pool})
			require.NoError(t, s.Send(t.Context(), hello))
			require.Equal(t, []string{"ada@example.com"}, box.rcpts)
			requireContent(t, box.received[0], hello)
		})
	}
}

// requireContent checks headers and both parts of a message.
func requireContent(t *testing.T, raw string, want mail.Message) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(raw))
	require.NoError(t, err)
	subject, err := new(mimeWords).decode(m.Header.Get("Subject"))
	require.NoError(t, err)
	require.Equal(t, want.Subject, subject)
	require.Equal(t, "<"+want.To+">", m.Header.Get("To"))
	require.Equal(t, `"Lakewarden" <lakewarden@acme.example>`, m.Header.Get("From"))
	require.Equal(t, "auto-generated", m.Header.Get("Auto-Submitted"))
	require.Contains(t, m.Header.Get("Message-ID"), "@acme.example>")
	_, boundary, found := strings.Cut(m.Header.Get("Content-Type"), "boundary=")
	require.True(t, found)
	parts := multipart.NewReader(m.Body, strings.Trim(boundary, "\""))
	for _, part := range []struct{ kind, text string }{{"text/plain", want.Text}, {"text/html", want.HTML}} {
		p, err := parts.NextRawPart()
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(p.Header.Get("Content-Type"), part.kind))
		text, err := io.ReadAll(quotedprintable.NewReader(p))
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(part.text), strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
}

func TestAnUntrustedCertificateStopsTheMessage(t *testing.T) {
	config, _ := authority(t)
	for scheme, implicit := range map[string]bool{"smtp": false, "smtps": true} {
		box := &mailbox{}
		port := box.start(t, config, implicit)
		require.Error(t, sender(t, scheme+"://localhost:"+port, mail.Options{}).Send(t.Context(), hello))
		require.Empty(t, box.received)
	}
}

func TestARemoteServerWithoutTLSGetsNothing(t *testing.T) {
	box := &mailbox{user: "mailer", password: "secret"}
	port := box.start(t, nil, false)
	s := sender(t, "smtp://mailer:secret@mail.example.com:587", mail.Options{
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+port)
		},
	})
	require.ErrorContains(t, s.Send(t.Context(), hello), "STARTTLS")
	require.Empty(t, box.received)
}

func TestALoopbackServerNeedsNoTLSButGetsNoPassword(t *testing.T) {
	open := &mailbox{}
	require.NoError(t, sender(t, "smtp://127.0.0.1:"+open.start(t, nil, false), mail.Options{}).Send(t.Context(), hello))
	require.Len(t, open.received, 1)
	closed := &mailbox{user: "mailer", password: "secret"}
	require.Error(t, sender(t, "smtp://mailer:secret@127.0.0.1:"+closed.start(t, nil, false), mail.Options{}).Send(t.Context(), hello))
	require.Empty(t, closed.received)
}

func TestARefusedCredentialIsFinal(t *testing.T) {
	config, pool := authority(t)
	box := &mailbox{user: "mailer", password: "secret"}
	port := box.start(t, config, false)
	err := sender(t, "smtp://mailer:wrong-password@localhost:"+port, mail.Options{RootCAs: pool}).Send(t.Context(), hello)
	require.ErrorIs(t, err, mail.ErrRefused)
	require.NotContains(t, err.Error(), "wrong-password")
}

func TestRefusedRecipients(t *testing.T) {
	config, pool := authority(t)
	for code, final := range map[int]bool{550: true, 450: false} {
		box := &mailbox{refuse: &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: "no such mailbox"}}
		port := box.start(t, config, false)
		err := sender(t, "smtp://localhost:"+port, mail.Options{RootCAs: pool}).Send(t.Context(), hello)
		require.Error(t, err)
		require.Equal(t, final, isRefused(err), "%d: %v", code, err)
	}
}

func TestASlowServerDelaysNoLongerThanTheLimit(t *testing.T) {
	config, pool := authority(t)
	box := &mailbox{stall: make(chan struct{})}
	port := box.start(t, config, false)
	defer close(box.stall)
	start := time.Now()
	err := sender(t, "smtp://localhost:"+port, mail.Options{RootCAs: pool, Timeout: 200 * time.Millisecond}).Send(t.Context(), hello)
	require.Error(t, err)
	require.False(t, isRefused(err), "a retry may help: %v", err)
	require.Less(t, time.Since(start), 30*time.Second)

	// A server that accepts connections and says nothing.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	for _, scheme := range []string{"smtp", "smtps"} {
		start := time.Now()
		err := sender(t, scheme+"://"+l.Addr().String(), mail.Options{Timeout: 200 * time.Millisecond}).Send(t.Context(), hello)
		require.Error(t, err)
		require.Less(t, time.Since(start), 30*time.Second)
	}
}

func TestACancelledContextEndsTheSending(t *testing.T) {
	config, pool := authority(t)
	box := &mailbox{stall: make(chan struct{})}
	port := box.start(t, config, false)
	defer close(box.stall)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, sender(t, "smtp://localhost:"+port, mail.Options{RootCAs: pool}).Send(ctx, hello), context.DeadlineExceeded)
}

func TestURLsOfMailServers(t *testing.T) {
	for text, valid := range map[string]bool{
		"smtp://localhost": true, "smtps://mail.example.com": true, "smtp://u:p@mail.example.com:2525": true, "smtp://[::1]:25": true,
		"": false, "mail.example.com": false, "http://mail.example.com": false, "smtp://": false, "smtp://host:99999": false,
		"smtp://host/path": false, "smtp://host?tls=no": false, "smtp://u:sec%ret@host": false,
	} {
		err := mail.CheckServer(text)
		require.Equal(t, valid, err == nil, text)
		if err != nil {
			require.NotContains(t, err.Error(), "sec")
		}
	}
	for text, valid := range map[string]bool{"a@b.example": true, from: true, "": false, "nobody": false, "a@b.example, c@d.example": false} {
		_, err := mail.NewDirectory(t.TempDir(), text, nil)
		require.Equal(t, valid, err == nil, text)
		_, err = mail.NewSMTP("smtp://localhost", text, mail.Options{})
		require.Equal(t, valid, err == nil, text)
	}
}
