-- +goose Up
CREATE TABLE operations (
    id               TEXT COLLATE "C" PRIMARY KEY,
    org_id           TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    user_id          TEXT COLLATE "C" NOT NULL REFERENCES users (id),
    -- No reference: empty for work that no key started.
    key_id           TEXT COLLATE "C" NOT NULL,
    kind             TEXT COLLATE "C" NOT NULL,
    state            TEXT COLLATE "C" NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    done             BIGINT NOT NULL,
    total            BIGINT NOT NULL,
    unit             TEXT COLLATE "C" NOT NULL,
    problem          TEXT COLLATE "C" NOT NULL,
    result           TEXT COLLATE "C" NOT NULL,
    private          TEXT COLLATE "C" NOT NULL,
    stored_bytes     BIGINT NOT NULL,
    cancel_requested BOOLEAN NOT NULL,
    runner           TEXT COLLATE "C" NOT NULL,
    heartbeat_at     BIGINT NOT NULL,
    created_at       BIGINT NOT NULL,
    started_at       BIGINT,
    finished_at      BIGINT,
    expires_at       BIGINT
);
CREATE INDEX operations_org ON operations (org_id, created_at, id);
CREATE INDEX operations_live ON operations (runner, heartbeat_at) WHERE state IN ('queued', 'running');
CREATE INDEX operations_expiry ON operations (expires_at);

-- +goose Down
DROP TABLE operations;
