package identity_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/mail"
	"github.com/lakewarden/lakewarden/auth/password"
	"github.com/lakewarden/lakewarden/auth/session"
	authstore "github.com/lakewarden/lakewarden/auth/sqlstore"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const (
	ada       = "ada@acme.example"
	nobody    = "nobody@acme.example"
	good      = "tangerine umbrella"
	better    = "seven quiet lighthouses"
	remote    = "192.0.2.7"
	elsewhere = "198.51.100.9"
)

var from = identity.Origin{Remote: remote, RequestID: "request"}

// people is a database with the person ada, who has a password, and the use cases.
type people struct {
	testing.TB
	raw     *sqlstore.Store
	store   *counting
	tokens  *authstore.Store
	hasher  *countingHasher
	outbox  *outbox
	audit   *auditLog
	usable  atomic.Bool
	clock   atomic.Int64
	ada     catalog.UserID
	org     catalog.OrgID
	pw      identity.Passwords
	signIn  identity.SignIn
	recover identity.Recovery
}

func newPeople(t testing.TB) *people {
	ctx := context.Background()
	p := &people{TB: t, outbox: &outbox{}, audit: &auditLog{}}
	p.clock.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMicro())
	p.usable.Store(true)
	url := "sqlite:" + filepath.Join(t.TempDir(), "catalog.db")
	var err error
	p.raw, err = sqlstore.Open(ctx, url, sqlstore.Options{Now: p.now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.raw.Close()) })
	db, err := sqldb.Open(ctx, url, sqldb.Options{Now: p.now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	p.tokens = authstore.New(db)
	p.store = &counting{PasswordStore: authz.New(p.raw)}
	p.hasher = &countingHasher{Hasher: password.New(password.Options{Params: password.Params{Memory: 64, Passes: 1, Lanes: 1}})}
	attempts := throttle.NewAttempts(p.now)
	p.pw = identity.Passwords{Store: p.store, Hasher: p.hasher, Sessions: p.tokens, Tokens: p.tokens, Attempts: attempts, Audit: p.audit}
	p.signIn = identity.SignIn{
		Store: p.store, Hasher: p.hasher, Sessions: p.tokens, Browsers: p.tokens, Attempts: attempts, Audit: p.audit, Now: p.now,
	}
	p.recover = identity.Recovery{
		Passwords: p.pw, Tokens: p.tokens, Members: authz.New(p.raw), Use: p, Mail: p.outbox, Audit: p.audit,
		Sent: throttle.NewMailings(p.now), PublicURL: "https://lake.example",
	}
	p.ada = p.user(ada)
	org, err := p.raw.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "Acme", Owner: p.ada})
	require.NoError(t, err)
	p.org = org.ID
	require.NoError(t, p.pw.Set(ctx, p.ada, good, from))
	p.store.reset()
	p.hasher.reset()
	p.audit.reset()
	return p
}

func (p *people) now() time.Time { return time.UnixMicro(p.clock.Load()).UTC() }

func (p *people) advance(d time.Duration) { p.clock.Add(d.Microseconds()) }

// PasswordUsable implements identity.PasswordUse.
func (p *people) PasswordUsable(context.Context, catalog.UserID) (bool, error) {
	return p.usable.Load(), nil
}

func (p *people) user(email string) catalog.UserID {
	p.Helper()
	u, err := p.raw.CreateUser(context.Background(), catalog.NewUser{Email: email})
	require.NoError(p, err)
	return u.ID
}

// as returns the context of a signed-in person, or of a key if the method is that.
func (p *people) as(user catalog.UserID, method auth.Method) context.Context {
	role := auth.RoleAdmin
	return auth.WithPrincipal(context.Background(), auth.Principal{
		OrgID: uuid.MustParse(string(p.org)), UserID: uuid.MustParse(string(user)), Role: role, Granted: role.Scopes(), Scopes: role.Scopes(),
		Method: method, Remote: remote,
	})
}

// counting counts the calls of a store.
type counting struct {
	identity.PasswordStore
	mu    sync.Mutex
	calls []string
	// onPassword, if set, runs before each look-up of a hash.
	onPassword func(call int)
	passwords  int
}

func (c *counting) count(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, name)
}

func (c *counting) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.passwords = nil, 0
}

func (c *counting) UserByEmail(ctx context.Context, email string) (catalog.User, error) {
	c.count("UserByEmail")
	return c.PasswordStore.UserByEmail(ctx, email)
}

func (c *counting) Password(ctx context.Context, user catalog.UserID) (string, error) {
	c.count("Password")
	if c.passwords++; c.onPassword != nil {
		c.onPassword(c.passwords)
	}
	return c.PasswordStore.Password(ctx, user)
}

// countingHasher counts hashes and remembers their sources.
type countingHasher struct {
	identity.Hasher
	mu      sync.Mutex
	sources []string
}

func (h *countingHasher) reset() { h.sources = nil }

func (h *countingHasher) Verify(ctx context.Context, source password.Source, text, stored string) (password.Verified, error) {
	h.mu.Lock()
	h.sources = append(h.sources, source.Client)
	h.mu.Unlock()
	return h.Hasher.Verify(ctx, source, text, stored)
}

// outbox holds what a queue would do.
type outbox struct {
	full    bool
	waiting []mail.Compose
}

func (o *outbox) Later(compose mail.Compose) bool {
	if !o.full {
		o.waiting = append(o.waiting, compose)
	}
	return !o.full
}

// sent composes the e-mails that wait.
func (o *outbox) sent(t testing.TB) (messages []mail.Message) {
	t.Helper()
	for _, compose := range o.waiting {
		message, err := compose(context.Background())
		require.NoError(t, err)
		if message != nil {
			messages = append(messages, *message)
		}
	}
	o.waiting = nil
	return messages
}

// auditLog holds the entries.
type auditLog struct {
	mu      sync.Mutex
	entries []catalog.AuditEntry
}

func (a *auditLog) Record(entry catalog.AuditEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.entries = append(a.entries, entry)
}

func (a *auditLog) reset() { a.entries = nil }

// last returns the last entry of an action.
func (a *auditLog) last(action string) (found catalog.AuditEntry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range a.entries {
		if e.Action == action {
			found = e
		}
	}
	return found
}

func (a *auditLog) actions() (actions []string) {
	for _, e := range a.entries {
		actions = append(actions, e.Action+" "+string(e.Outcome))
	}
	return actions
}

// session creates a session of a user.
func (p *people) session(user catalog.UserID) session.Session {
	p.Helper()
	created, err := p.tokens.CreateSession(context.Background(), session.Session{
		User: uuid.MustParse(string(user)), Method: session.MethodPassword, ExpiresAt: p.now().Add(time.Hour),
	})
	require.NoError(p, err)
	return created
}

func (p *people) live(s session.Session) bool {
	p.Helper()
	found, err := p.tokens.Session(context.Background(), s.ID)
	require.NoError(p, err)
	return found.Live(p.now())
}
