-- Times are microseconds since 1970 in UTC. Ids are UUIDs in lower case. Text is
-- compared by bytes, as in SQLite.

-- +goose Up
CREATE TABLE catalog_epoch (
    id    BIGINT PRIMARY KEY CHECK (id = 1),
    value BIGINT NOT NULL
);
INSERT INTO catalog_epoch (id, value) VALUES (1, 1);

CREATE TABLE users (
    id           TEXT COLLATE "C" PRIMARY KEY,
    email        TEXT COLLATE "C" NOT NULL UNIQUE,
    display_name TEXT COLLATE "C" NOT NULL,
    version      BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);

CREATE TABLE organisations (
    id            TEXT COLLATE "C" PRIMARY KEY,
    name          TEXT COLLATE "C" NOT NULL,
    owner_user_id TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    config        TEXT COLLATE "C" NOT NULL,
    version       BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    deleted_at    BIGINT
);

CREATE TABLE memberships (
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    user_id    TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    role       TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'editor', 'builder', 'admin')),
    attributes TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

CREATE TABLE workspaces (
    id         TEXT COLLATE "C" PRIMARY KEY,
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    name       TEXT COLLATE "C" NOT NULL,
    name_key   TEXT COLLATE "C" NOT NULL,
    is_default BOOLEAN NOT NULL,
    version    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX workspaces_name ON workspaces (org_id, name_key);
CREATE UNIQUE INDEX workspaces_default ON workspaces (org_id) WHERE is_default;

CREATE TABLE workspace_members (
    workspace_id TEXT COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    role         TEXT COLLATE "C" NOT NULL CHECK (role IN ('viewer', 'editor', 'builder', 'admin')),
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX workspace_members_user ON workspace_members (user_id);

CREATE TABLE storage_configs (
    id                    TEXT COLLATE "C" PRIMARY KEY,
    org_id                TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    name                  TEXT COLLATE "C" NOT NULL,
    slug                  TEXT COLLATE "C" NOT NULL,
    kind                  TEXT COLLATE "C" NOT NULL,
    -- NULL while the configuration is personal.
    workspace_id          TEXT COLLATE "C" REFERENCES workspaces (id),
    owner_user_id         TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    location              TEXT COLLATE "C" NOT NULL,
    settings              TEXT COLLATE "C" NOT NULL,
    auth_mode             TEXT COLLATE "C" NOT NULL,
    credential_expires_at BIGINT,
    sealed_secret         BYTEA,
    discovered_at         BIGINT,
    version               BIGINT NOT NULL,
    created_at            BIGINT NOT NULL,
    updated_at            BIGINT NOT NULL
);
CREATE INDEX storage_configs_slug ON storage_configs (org_id, slug);
CREATE INDEX storage_configs_workspace ON storage_configs (workspace_id);

CREATE TABLE delta_tables (
    id                TEXT COLLATE "C" PRIMARY KEY,
    org_id            TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    config_id         TEXT COLLATE "C" NOT NULL REFERENCES storage_configs (id) ON DELETE CASCADE,
    delta_id          TEXT COLLATE "C" NOT NULL,
    previous_delta_id TEXT COLLATE "C" NOT NULL,
    path              TEXT COLLATE "C" NOT NULL,
    name              TEXT COLLATE "C" NOT NULL,
    name_key          TEXT COLLATE "C" NOT NULL,
    name_is_custom    BOOLEAN NOT NULL,
    state             TEXT COLLATE "C" NOT NULL CHECK (state IN ('live', 'vanished', 'dropped', 'identity_changed')),
    version           BIGINT NOT NULL,
    registered_at     BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL
);
CREATE UNIQUE INDEX delta_tables_path ON delta_tables (config_id, path);
CREATE UNIQUE INDEX delta_tables_name ON delta_tables (config_id, name_key) WHERE state <> 'dropped';
CREATE INDEX delta_tables_delta ON delta_tables (org_id, delta_id);

CREATE TABLE policies (
    id              TEXT COLLATE "C" PRIMARY KEY,
    org_id          TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    -- Empty means every table of the organisation.
    delta_id        TEXT COLLATE "C" NOT NULL,
    column_name     TEXT COLLATE "C" NOT NULL,
    kind            TEXT COLLATE "C" NOT NULL CHECK (kind IN ('rls', 'cls', 'mask')),
    policy_text     TEXT COLLATE "C" NOT NULL,
    definition      TEXT COLLATE "C" NOT NULL,
    builder_managed BOOLEAN NOT NULL,
    enabled         BOOLEAN NOT NULL,
    version         BIGINT NOT NULL,
    created_by      TEXT COLLATE "C" NOT NULL,
    updated_by      TEXT COLLATE "C" NOT NULL,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);
CREATE INDEX policies_table ON policies (org_id, delta_id);

-- No reference to policies: the history outlives them.
CREATE TABLE policy_revisions (
    policy_id       TEXT COLLATE "C" NOT NULL,
    version         BIGINT NOT NULL,
    org_id          TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    action          TEXT COLLATE "C" NOT NULL CHECK (action IN ('create', 'update', 'delete')),
    delta_id        TEXT COLLATE "C" NOT NULL,
    column_name     TEXT COLLATE "C" NOT NULL,
    kind            TEXT COLLATE "C" NOT NULL,
    policy_text     TEXT COLLATE "C" NOT NULL,
    definition      TEXT COLLATE "C" NOT NULL,
    builder_managed BOOLEAN NOT NULL,
    enabled         BOOLEAN NOT NULL,
    changed_by      TEXT COLLATE "C" NOT NULL,
    changed_at      BIGINT NOT NULL,
    PRIMARY KEY (policy_id, version)
);

CREATE TABLE api_keys (
    id           TEXT COLLATE "C" PRIMARY KEY,
    org_id       TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    user_id      TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    name         TEXT COLLATE "C" NOT NULL,
    key_prefix   TEXT COLLATE "C" NOT NULL UNIQUE,
    key_hash     BYTEA NOT NULL CHECK (length(key_hash) = 32),
    scopes       TEXT COLLATE "C" NOT NULL,
    -- No reference: a key outlives its workspace, revoked.
    workspace_id TEXT COLLATE "C" NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    created_at   BIGINT NOT NULL,
    revoked_at   BIGINT,
    successor_id TEXT COLLATE "C" NOT NULL
);
CREATE INDEX api_keys_org ON api_keys (org_id, created_at, id);

-- No references: the log outlives what it tells about.
CREATE TABLE audit_entries (
    id         TEXT COLLATE "C" PRIMARY KEY,
    at         BIGINT NOT NULL,
    org_id     TEXT COLLATE "C" NOT NULL,
    user_id    TEXT COLLATE "C" NOT NULL,
    key_id     TEXT COLLATE "C" NOT NULL,
    action     TEXT COLLATE "C" NOT NULL,
    resource   TEXT COLLATE "C" NOT NULL,
    outcome    TEXT COLLATE "C" NOT NULL CHECK (outcome IN ('allow', 'deny', 'error')),
    request_id TEXT COLLATE "C" NOT NULL,
    details    TEXT COLLATE "C" NOT NULL
);
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
