-- +goose Up
CREATE TABLE operations (
    id               TEXT PRIMARY KEY,
    org_id           TEXT NOT NULL REFERENCES organisations (id),
    user_id          TEXT NOT NULL REFERENCES users (id),
    -- No reference: empty for work that no key started.
    key_id           TEXT NOT NULL,
    kind             TEXT NOT NULL,
    state            TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    done             INTEGER NOT NULL,
    total            INTEGER NOT NULL,
    unit             TEXT NOT NULL,
    problem          TEXT NOT NULL,
    result           TEXT NOT NULL,
    private          TEXT NOT NULL,
    stored_bytes     INTEGER NOT NULL,
    cancel_requested INTEGER NOT NULL CHECK (cancel_requested IN (0, 1)),
    runner           TEXT NOT NULL,
    heartbeat_at     INTEGER NOT NULL,
    created_at       INTEGER NOT NULL,
    started_at       INTEGER,
    finished_at      INTEGER,
    expires_at       INTEGER
) STRICT;
CREATE INDEX operations_org ON operations (org_id, created_at, id);
CREATE INDEX operations_live ON operations (runner, heartbeat_at) WHERE state IN ('queued', 'running');
CREATE INDEX operations_expiry ON operations (expires_at);

-- +goose Down
DROP TABLE operations;
