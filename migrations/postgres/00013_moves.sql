-- +goose Up
-- Moves of objects between places of storage configurations.
CREATE TABLE moves (
    id               TEXT COLLATE "C" PRIMARY KEY,
    org_id           TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    user_id          TEXT COLLATE "C" NOT NULL,
    -- Hash of the idempotency key; NULL without one.
    key_hash         TEXT COLLATE "C",
    fingerprint      TEXT COLLATE "C" NOT NULL,
    -- No references: the record outlives the configurations.
    source_config_id TEXT COLLATE "C" NOT NULL,
    source_path      TEXT COLLATE "C" NOT NULL,
    source_location  TEXT COLLATE "C" NOT NULL,
    target_config_id TEXT COLLATE "C" NOT NULL,
    target_path      TEXT COLLATE "C" NOT NULL,
    target_location  TEXT COLLATE "C" NOT NULL,
    state            TEXT COLLATE "C" NOT NULL CHECK (state IN ('copying', 'switched', 'deleting', 'discarding', 'done', 'failed')),
    objects          BIGINT NOT NULL,
    bytes            BIGINT NOT NULL,
    tables           BIGINT NOT NULL,
    -- What the switch changed, to revert it.
    undo             TEXT COLLATE "C" NOT NULL,
    -- The epoch from which statements use the destination; 0 before the switch.
    epoch            BIGINT NOT NULL,
    problem          TEXT COLLATE "C" NOT NULL,
    holder           TEXT COLLATE "C" NOT NULL,
    renewed_at       BIGINT NOT NULL,
    begun_at         BIGINT NOT NULL
);
CREATE UNIQUE INDEX moves_key ON moves (org_id, key_hash) WHERE key_hash IS NOT NULL;
CREATE INDEX moves_live ON moves (org_id) WHERE state NOT IN ('done', 'failed');
CREATE INDEX moves_begun ON moves (begun_at);

-- The oldest epoch that running statements of each replica may have been planned at.
CREATE TABLE replica_reads (
    replica    TEXT COLLATE "C" PRIMARY KEY,
    epoch      BIGINT NOT NULL,
    renewed_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE replica_reads;
DROP TABLE moves;
