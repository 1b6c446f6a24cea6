package mail_test

import (
	"bytes"
	"errors"
	"log/slog"
	"mime"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth/mail"
)

type mimeWords struct{ mime.WordDecoder }

func (w *mimeWords) decode(text string) (string, error) { return w.DecodeHeader(text) }

func isRefused(err error) bool {
	return errors.Is(err, mail.ErrRefused) || errors.Is(err, mail.ErrMessage)
}

func TestInvalidMessagesAreRefused(t *testing.T) {
	require.NoError(t, hello.Validate())
	for _, change := range []func(*mail.Message){
		func(m *mail.Message) { m.To = "" },
		func(m *mail.Message) { m.To = "ada@example.com\r\nBcc: eve@example.com" },
		func(m *mail.Message) { m.To = "ada@example.com, eve@example.com" },
		func(m *mail.Message) { m.To = "Ada <ada@example.com>" },
		func(m *mail.Message) { m.To = "\"a b\"@example.com" },
		func(m *mail.Message) { m.To = "\u0430da@example.com" },
		func(m *mail.Message) { m.Subject = "" },
		func(m *mail.Message) { m.Subject = "Hello\r\nBcc: eve@example.com" },
		func(m *mail.Message) { m.Subject = "Hello\nthere" },
		func(m *mail.Message) { m.Subject = "Hello\x00" },
		func(m *mail.Message) { m.Subject = strings.Repeat("a", 501) },
		func(m *mail.Message) { m.Text = "" },
		func(m *mail.Message) { m.HTML = "\xff" },
	} {
		m := hello
		change(&m)
		require.ErrorIs(t, m.Validate(), mail.ErrMessage, "%+v", m)
		d, err := mail.NewDirectory(t.TempDir(), from, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.ErrorIs(t, d.Send(t.Context(), m), mail.ErrMessage)
		require.ErrorIs(t, sender(t, "smtp://127.0.0.1:1", mail.Options{}).Send(t.Context(), m), mail.ErrMessage)
	}
}

func TestMessagesAreWrittenToFilesOfTheOwner(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	var logged bytes.Buffer
	d, err := mail.NewDirectory(dir, from, slog.New(slog.NewTextHandler(&logged, nil)))
	require.NoError(t, err)
	require.NoError(t, d.Send(t.Context(), hello))
	require.NoError(t, d.Send(t.Context(), hello))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "no temporary file remains")
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	for _, entry := range entries {
		require.True(t, strings.HasSuffix(entry.Name(), ".eml"))
		path := filepath.Join(dir, entry.Name())
		require.Contains(t, logged.String(), path)
		info, err := entry.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		requireContent(t, string(raw), hello)
	}
	require.NotContains(t, logged.String(), "Guten Tag")

	blocked := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	d, err = mail.NewDirectory(blocked, from, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Error(t, d.Send(t.Context(), hello))
}

const link = "https://lake.example/set-password?token=abc-DEF_123"

func TestTemplatesHoldTheLinkInBothParts(t *testing.T) {
	for _, m := range []mail.Message{
		mail.Recovery{Link: link, Valid: "1 hour"}.Message("ada@example.com"),
		mail.Invitation{Organisation: "Acme & Söhne", Inviter: "Ben", InviterEmail: "ben@example.com", Role: "viewer", Link: link,
			Valid: "7 days"}.Message("ada@example.com"),
	} {
		require.NoError(t, m.Validate())
		require.Contains(t, m.Text, "\n"+link+"\n")
		require.Equal(t, 2, strings.Count(m.HTML, link))
		require.NotContains(t, m.Text, "{{")
		for _, external := range []string{"src=", "url(", "<img", "<script", "<link", "@import"} {
			require.NotContains(t, m.HTML, external)
		}
	}
}

// TestInvitationsNameTheInviter checks that both parts say who invites to which organisation.
func TestInvitationsNameTheInviter(t *testing.T) {
	m := mail.Invitation{Organisation: "Acme", OrganisationID: "the-id", Inviter: "Ben Beta", InviterEmail: "ben@acme.example",
		Role: "viewer", Link: link, Valid: "7 days"}.Message("ada@example.com")
	for _, part := range []string{m.Text, m.HTML} {
		for _, named := range []string{"Ben Beta", "ben@acme.example", "Acme", "the-id"} {
			require.Contains(t, part, named)
		}
	}
	m = mail.Invitation{Organisation: "Acme", Inviter: "Nightly job", Role: "viewer", Link: link, Valid: "7 days"}.Message("ada@example.com")
	require.NotContains(t, m.Text+m.HTML, "Invited by", "a service account has no address")
}

func TestNamesOfOrganisationsCannotInject(t *testing.T) {
	for name, want := range map[string]string{
		"Acme & Söhne (Berlin)":                      "Acme & Söhne (Berlin)",
		"Acme\r\nBcc: eve@example.com":               "Acme Bcc eve example com",
		"Locked! Visit https://evil.example/login":   "Locked Visit https evil example login",
		"<a href=\"https://evil.example\">click</a>": "a href https evil example click a",
		"{{.Link}}":                      "Link",
		"\u202eecalp elttil":             "ecalp elttil",
		"...":                            "an organisation",
		strings.Repeat("long name ", 20): strings.TrimSpace(strings.Repeat("long name ", 6)) + "…",
	} {
		m := mail.Invitation{Organisation: name, Inviter: name, InviterEmail: "a@b.example\r\nx", Role: "viewer", Link: link,
			Valid: "7 days"}.Message("ada@example.com")
		require.NoError(t, m.Validate())
		require.Equal(t, "Invitation to "+want+" on Lakewarden", m.Subject)
		require.Contains(t, m.Text, "\""+want+"\"")
		if want == "an organisation" {
			want = "An administrator"
		}
		require.Contains(t, m.Text, "\n\n"+want+" has invited you")
		require.NotContains(t, m.Text, "b.example")
		require.Equal(t, 1, strings.Count(m.Text, "://"), m.Text)
		require.Equal(t, 2, strings.Count(m.HTML, "://"), m.HTML)
		require.Equal(t, 1, strings.Count(m.HTML, "<a "), m.HTML)
	}
}
