-- +goose Up
-- A service account is a user of kind service. It belongs to one organisation.
ALTER TABLE users ADD COLUMN kind TEXT NOT NULL DEFAULT 'person' CHECK (kind IN ('person', 'service'));

-- Deleted organisations whose records were removed. Data outside the catalog may remain,
-- so a storage root of the first organisation is never given to another one.
CREATE TABLE purged_organisations (
    id         TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    purged_at  INTEGER NOT NULL
) STRICT;

-- Password hashes in the PHC string format. A user without a row has no password.
CREATE TABLE passwords (
    user_id    TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    hash       TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;

CREATE TABLE invitations (
    id          TEXT PRIMARY KEY,
    org_id      TEXT NOT NULL REFERENCES organisations (id) ON DELETE CASCADE,
    email       TEXT NOT NULL,
    role        TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'builder', 'admin')),
    -- SHA-256 of the token in the link.
    token_hash  BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
    invited_by  TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    accepted_at INTEGER,
    revoked_at  INTEGER
) STRICT;
CREATE INDEX invitations_org ON invitations (org_id, created_at, id);
CREATE UNIQUE INDEX invitations_open ON invitations (org_id, email) WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- OAuth clients of organisations. A client of kind service acts as its service account.
CREATE TABLE oauth_clients (
    id            TEXT PRIMARY KEY,
    org_id        TEXT NOT NULL REFERENCES organisations (id) ON DELETE CASCADE,
    name          TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('application', 'service')),
    -- SHA-256 of the secret; NULL for a public client.
    secret_hash   BLOB CHECK (length(secret_hash) = 32),
    redirect_uris TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    -- The service account; empty for an application.
    user_id       TEXT NOT NULL,
    created_by    TEXT NOT NULL,
    version       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX oauth_clients_org ON oauth_clients (org_id, created_at, id);
CREATE UNIQUE INDEX oauth_clients_user ON oauth_clients (user_id) WHERE user_id <> '';

CREATE TABLE sso_configs (
    org_id            TEXT PRIMARY KEY REFERENCES organisations (id) ON DELETE CASCADE,
    issuer            TEXT NOT NULL,
    client_id         TEXT NOT NULL,
    sealed_secret     BLOB NOT NULL,
    default_role      TEXT NOT NULL CHECK (default_role IN ('viewer', 'editor', 'builder', 'admin')),
    max_role          TEXT NOT NULL CHECK (max_role IN ('viewer', 'editor', 'builder', 'admin')),
    role_claim        TEXT NOT NULL,
    -- A JSON object from the name of an attribute to the name of a claim.
    attribute_claims  TEXT NOT NULL,
    version           INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
) STRICT;

-- The e-mail domains of single sign-on. Several organisations may claim a domain, but only
-- one can verify it.
CREATE TABLE email_domains (
    org_id      TEXT NOT NULL REFERENCES organisations (id) ON DELETE CASCADE,
    domain      TEXT NOT NULL,
    -- The value that a TXT record of the domain has to contain.
    challenge   TEXT NOT NULL,
    -- How the domain was verified: empty if it is not, else dns or operator.
    method      TEXT NOT NULL CHECK (method IN ('', 'dns', 'operator')),
    verified_at INTEGER,
    -- The last check of the record, and since when checks have failed.
    checked_at  INTEGER,
    failed_at   INTEGER,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (org_id, domain)
) STRICT;
CREATE UNIQUE INDEX email_domains_verified ON email_domains (domain) WHERE method <> '';

CREATE TABLE provider_apps (
    org_id        TEXT NOT NULL REFERENCES organisations (id) ON DELETE CASCADE,
    provider      TEXT NOT NULL,
    client_id     TEXT NOT NULL,
    sealed_secret BLOB NOT NULL,
    tenant        TEXT NOT NULL,
    version       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (org_id, provider)
) STRICT;

-- Members' links to providers: delegated access to their cloud storage. They end with the
-- membership and with the application.
CREATE TABLE provider_links (
    org_id        TEXT NOT NULL,
    provider      TEXT NOT NULL,
    user_id       TEXT NOT NULL,
    -- The user's identifier at the provider.
    subject       TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    -- The refresh token and the current access token.
    sealed_token  BLOB NOT NULL,
    -- Since when the provider has refused the refresh token.
    broken_at     INTEGER,
    -- Until then one replica exchanges the refresh token.
    claimed_until INTEGER,
    version       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (org_id, provider, user_id),
    FOREIGN KEY (org_id, provider) REFERENCES provider_apps (org_id, provider) ON DELETE CASCADE,
    FOREIGN KEY (org_id, user_id) REFERENCES memberships (org_id, user_id) ON DELETE CASCADE
) STRICT;

-- The keys that sign access tokens. All replicas use the same ones.
CREATE TABLE signing_keys (
    id          TEXT PRIMARY KEY,
    algorithm   TEXT NOT NULL,
    public_key  TEXT NOT NULL,
    sealed_key  BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    -- From then on the key signs, unless a newer one does. It is published before.
    signs_at    INTEGER NOT NULL,
    -- From then on the key is no longer published.
    expires_at  INTEGER NOT NULL
) STRICT;

-- Signed-in sessions. All tokens that come from one sign-in belong to its session and end
-- with it.
CREATE TABLE token_sessions (
    id          TEXT PRIMARY KEY,
    user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    -- Empty for a session that may act in every organisation of the user.
    org_id      TEXT NOT NULL,
    client_id   TEXT NOT NULL,
    method      TEXT NOT NULL CHECK (method IN ('password', 'sso', 'client')),
    -- The session at the identity provider; empty unless the method is sso.
    issuer      TEXT NOT NULL,
    subject     TEXT NOT NULL,
    provider_session TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    revoked_at  INTEGER
) STRICT;
CREATE INDEX token_sessions_user ON token_sessions (user_id);
CREATE INDEX token_sessions_subject ON token_sessions (issuer, subject) WHERE issuer <> '';
CREATE INDEX token_sessions_expiry ON token_sessions (expires_at);

-- Authorization codes and refresh tokens, by the SHA-256 of the secret.
CREATE TABLE oauth_grants (
    hash         BLOB PRIMARY KEY CHECK (length(hash) = 32),
    kind         TEXT NOT NULL CHECK (kind IN ('code', 'refresh')),
    session_id   TEXT NOT NULL REFERENCES token_sessions (id) ON DELETE CASCADE,
    client_id    TEXT NOT NULL,
    -- The request as JSON: scopes, redirect URI, organisation, code challenge.
    request      TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    -- A grant that is used again revokes its session.
    used_at      INTEGER
) STRICT;
CREATE INDEX oauth_grants_session ON oauth_grants (session_id);
CREATE INDEX oauth_grants_expiry ON oauth_grants (expires_at);

-- Tokens in links and states of redirects, by the SHA-256 of the token.
CREATE TABLE one_time_tokens (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    purpose    TEXT NOT NULL,
    -- What the token is about, so that all of them can be withdrawn at once.
    subject    TEXT NOT NULL,
    data       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX one_time_tokens_subject ON one_time_tokens (purpose, subject);
CREATE INDEX one_time_tokens_expiry ON one_time_tokens (expires_at);

-- Browsers that are signed in at our own pages, by the SHA-256 of the cookie.
CREATE TABLE browser_sessions (
    hash       BLOB PRIMARY KEY CHECK (length(hash) = 32),
    session_id TEXT NOT NULL REFERENCES token_sessions (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX browser_sessions_session ON browser_sessions (session_id);

-- The sandbox of an organisation is a storage configuration that the server makes: empty for
-- all others, else whether it resolves.
ALTER TABLE storage_configs ADD COLUMN sandbox TEXT NOT NULL DEFAULT '' CHECK (sandbox IN ('', 'on', 'off'));
CREATE UNIQUE INDEX storage_configs_sandbox ON storage_configs (org_id) WHERE sandbox <> '';

-- Tables of sandboxes: who created a table, its last use, and the bytes of its files at a
-- version.
ALTER TABLE delta_tables ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE delta_tables ADD COLUMN used_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE delta_tables ADD COLUMN size_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE delta_tables ADD COLUMN size_version INTEGER NOT NULL DEFAULT 0;
-- The bytes by which a write is about to enlarge a table of a sandbox.
ALTER TABLE write_leases ADD COLUMN reserved_bytes INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE write_leases DROP COLUMN reserved_bytes;
ALTER TABLE delta_tables DROP COLUMN size_version;
ALTER TABLE delta_tables DROP COLUMN size_bytes;
ALTER TABLE delta_tables DROP COLUMN used_at;
ALTER TABLE delta_tables DROP COLUMN created_by;
DROP INDEX storage_configs_sandbox;
ALTER TABLE storage_configs DROP COLUMN sandbox;
DROP TABLE browser_sessions;
DROP TABLE one_time_tokens;
DROP TABLE oauth_grants;
DROP TABLE token_sessions;
DROP TABLE signing_keys;
DROP TABLE provider_links;
DROP TABLE provider_apps;
DROP TABLE email_domains;
DROP TABLE sso_configs;
DROP TABLE oauth_clients;
DROP TABLE invitations;
DROP TABLE passwords;
DROP TABLE purged_organisations;
ALTER TABLE users DROP COLUMN kind;
