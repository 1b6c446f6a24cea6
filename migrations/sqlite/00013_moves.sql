-- +goose Up
-- Moves of objects between places of storage configurations.
CREATE TABLE moves (
    id               TEXT PRIMARY KEY,
    org_id           TEXT NOT NULL REFERENCES organisations (id),
    user_id          TEXT NOT NULL,
    -- Hash of the idempotency key; NULL without one.
    key_hash         TEXT,
    fingerprint      TEXT NOT NULL,
    -- No references: the record outlives the configurations.
    source_config_id TEXT NOT NULL,
    source_path      TEXT NOT NULL,
    source_location  TEXT NOT NULL,
    target_config_id TEXT NOT NULL,
    target_path      TEXT NOT NULL,
    target_location  TEXT NOT NULL,
    state            TEXT NOT NULL CHECK (state IN ('copying', 'switched', 'deleting', 'discarding', 'done', 'failed')),
    objects          INTEGER NOT NULL,
    bytes            INTEGER NOT NULL,
    tables           INTEGER NOT NULL,
    -- What the switch changed, to revert it.
    undo             TEXT NOT NULL,
    -- The epoch from which statements use the destination; 0 before the switch.
    epoch            INTEGER NOT NULL,
    problem          TEXT NOT NULL,
    holder           TEXT NOT NULL,
    renewed_at       INTEGER NOT NULL,
    begun_at         INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX moves_key ON moves (org_id, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX moves_live ON moves (org_id) WHERE state NOT IN ('done', 'failed');
CREATE INDEX moves_begun ON moves (begun_at);

-- The oldest epoch that running statements of each replica may have been planned at.
CREATE TABLE replica_reads (
    replica    TEXT PRIMARY KEY,
    epoch      INTEGER NOT NULL,
    renewed_at INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE replica_reads;
DROP TABLE moves;
