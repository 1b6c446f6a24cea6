-- +goose Up
-- Which user of an organisation a subject of an identity provider is. The rows of a removed member
-- stay, so that nobody else with the address becomes that user.
CREATE TABLE identity_bindings (
    id         TEXT PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES organisations (id) ON DELETE CASCADE,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    issuer     TEXT NOT NULL,
    subject    TEXT NOT NULL,
    method     TEXT NOT NULL CHECK (method IN ('sign_in', 'token', 'member', 'administrator', 'operator')),
    -- The administrator who bound the subject, or empty.
    bound_by   TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX identity_bindings_subject ON identity_bindings (org_id, issuer, subject);
CREATE INDEX identity_bindings_user ON identity_bindings (user_id, org_id);

-- +goose Down
DROP TABLE identity_bindings;
