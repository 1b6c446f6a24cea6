-- +goose Up
-- Requests that change rows and have an idempotency key.
CREATE TABLE write_keys (
    org_id      TEXT NOT NULL REFERENCES organisations (id),
    key_hash    TEXT NOT NULL,
    -- What was asked for; another request under the same key is refused.
    fingerprint TEXT NOT NULL,
    -- Empty until the request has succeeded.
    reply       TEXT NOT NULL,
    claimed_at  INTEGER NOT NULL,
    PRIMARY KEY (org_id, key_hash)
) STRICT;
CREATE INDEX write_keys_claimed ON write_keys (claimed_at);

-- +goose Down
DROP TABLE write_keys;
