-- +goose Up
-- Requests that change rows and have an idempotency key.
CREATE TABLE write_keys (
    org_id      TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    key_hash    TEXT COLLATE "C" NOT NULL,
    -- What was asked for; another request under the same key is refused.
    fingerprint TEXT COLLATE "C" NOT NULL,
    -- Empty until the request has succeeded.
    reply       TEXT COLLATE "C" NOT NULL,
    claimed_at  BIGINT NOT NULL,
    PRIMARY KEY (org_id, key_hash)
);
CREATE INDEX write_keys_claimed ON write_keys (claimed_at);

-- +goose Down
DROP TABLE write_keys;
