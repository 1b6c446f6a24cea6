-- Times are microseconds since 1970 in UTC. Ids are UUIDs in lower case.

-- +goose Up
CREATE TABLE catalog_epoch (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    value INTEGER NOT NULL
) STRICT;
INSERT INTO catalog_epoch (id, value) VALUES (1, 1);

CREATE TABLE users (
    id           TEXT PRIMARY KEY,
    email        TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    version      INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE organisations (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    owner_user_id TEXT NOT NULL REFERENCES users (id),
    config        TEXT NOT NULL,
    version       INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    updated_at    INTEGER NOT NULL,
    deleted_at    INTEGER
) STRICT;

CREATE TABLE memberships (
    org_id     TEXT NOT NULL REFERENCES organisations (id),
    user_id    TEXT NOT NULL REFERENCES users (id),
    role       TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'builder', 'admin')),
    attributes TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (org_id, user_id)
) STRICT;
CREATE INDEX memberships_user ON memberships (user_id);

CREATE TABLE workspaces (
    id         TEXT PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES organisations (id),
    name       TEXT NOT NULL,
    name_key   TEXT NOT NULL,
    is_default INTEGER NOT NULL CHECK (is_default IN (0, 1)),
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX workspaces_name ON workspaces (org_id, name_key);
CREATE UNIQUE INDEX workspaces_default ON workspaces (org_id) WHERE is_default = 1;

CREATE TABLE workspace_members (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      TEXT NOT NULL REFERENCES users (id),
    role         TEXT NOT NULL CHECK (role IN ('viewer', 'editor', 'builder', 'admin')),
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
) STRICT;
CREATE INDEX workspace_members_user ON workspace_members (user_id);

CREATE TABLE storage_configs (
    id                    TEXT PRIMARY KEY,
    org_id                TEXT NOT NULL REFERENCES organisations (id),
    name                  TEXT NOT NULL,
    slug                  TEXT NOT NULL,
    kind                  TEXT NOT NULL,
    -- NULL while the configuration is personal.
    workspace_id          TEXT REFERENCES workspaces (id),
    owner_user_id         TEXT NOT NULL REFERENCES users (id),
    location              TEXT NOT NULL,
    settings              TEXT NOT NULL,
    auth_mode             TEXT NOT NULL,
    credential_expires_at INTEGER,
    sealed_secret         BLOB,
    discovered_at         INTEGER,
    version               INTEGER NOT NULL,
    created_at            INTEGER NOT NULL,
    updated_at            INTEGER NOT NULL
) STRICT;
CREATE INDEX storage_configs_slug ON storage_configs (org_id, slug);
CREATE INDEX storage_configs_workspace ON storage_configs (workspace_id);

CREATE TABLE delta_tables (
    id                TEXT PRIMARY KEY,
    org_id            TEXT NOT NULL REFERENCES organisations (id),
    config_id         TEXT NOT NULL REFERENCES storage_configs (id) ON DELETE CASCADE,
    delta_id          TEXT NOT NULL,
    previous_delta_id TEXT NOT NULL,
    path              TEXT NOT NULL,
    name              TEXT NOT NULL,
    name_key          TEXT NOT NULL,
    name_is_custom    INTEGER NOT NULL CHECK (name_is_custom IN (0, 1)),
    state             TEXT NOT NULL CHECK (state IN ('live', 'vanished', 'dropped', 'identity_changed')),
    version           INTEGER NOT NULL,
    registered_at     INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX delta_tables_path ON delta_tables (config_id, path);
CREATE UNIQUE INDEX delta_tables_name ON delta_tables (config_id, name_key) WHERE state <> 'dropped';
CREATE INDEX delta_tables_delta ON delta_tables (org_id, delta_id);

CREATE TABLE policies (
    id              TEXT PRIMARY KEY,
    org_id          TEXT NOT NULL REFERENCES organisations (id),
    -- Empty means every table of the organisation.
    delta_id        TEXT NOT NULL,
    column_name     TEXT NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('rls', 'cls', 'mask')),
    policy_text     TEXT NOT NULL,
    definition      TEXT NOT NULL,
    builder_managed INTEGER NOT NULL CHECK (builder_managed IN (0, 1)),
    enabled         INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    version         INTEGER NOT NULL,
    created_by      TEXT NOT NULL,
    updated_by      TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX policies_table ON policies (org_id, delta_id);

-- No reference to policies: the history outlives them.
CREATE TABLE policy_revisions (
    policy_id       TEXT NOT NULL,
    version         INTEGER NOT NULL,
    org_id          TEXT NOT NULL REFERENCES organisations (id),
    action          TEXT NOT NULL CHECK (action IN ('create', 'update', 'delete')),
    delta_id        TEXT NOT NULL,
    column_name     TEXT NOT NULL,
    kind            TEXT NOT NULL,
    policy_text     TEXT NOT NULL,
    definition      TEXT NOT NULL,
    builder_managed INTEGER NOT NULL,
    enabled         INTEGER NOT NULL,
    changed_by      TEXT NOT NULL,
    changed_at      INTEGER NOT NULL,
    PRIMARY KEY (policy_id, version)
) STRICT;

CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    org_id       TEXT NOT NULL REFERENCES organisations (id),
    user_id      TEXT NOT NULL REFERENCES users (id),
    name         TEXT NOT NULL,
    key_prefix   TEXT NOT NULL UNIQUE,
    key_hash     BLOB NOT NULL CHECK (length(key_hash) = 32),
    scopes       TEXT NOT NULL,
    -- No reference: a key outlives its workspace, revoked.
    workspace_id TEXT NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    created_at   INTEGER NOT NULL,
    revoked_at   INTEGER,
    successor_id TEXT NOT NULL
) STRICT;
CREATE INDEX api_keys_org ON api_keys (org_id, created_at, id);

-- No references: the log outlives what it tells about.
CREATE TABLE audit_entries (
    id         TEXT PRIMARY KEY,
    at         INTEGER NOT NULL,
    org_id     TEXT NOT NULL,
    user_id    TEXT NOT NULL,
    key_id     TEXT NOT NULL,
    action     TEXT NOT NULL,
    resource   TEXT NOT NULL,
    outcome    TEXT NOT NULL CHECK (outcome IN ('allow', 'deny', 'error')),
    request_id TEXT NOT NULL,
    details    TEXT NOT NULL
) STRICT;
CREATE INDEX audit_entries_time ON audit_entries (org_id, at, id);

-- +goose Down
DROP TABLE audit_entries;
DROP TABLE api_keys;
DROP TABLE policy_revisions;
DROP TABLE policies;
DROP TABLE delta_tables;
DROP TABLE storage_configs;
DROP TABLE workspace_members;
DROP TABLE workspaces;
DROP TABLE memberships;
DROP TABLE organisations;
DROP TABLE users;
DROP TABLE catalog_epoch;
