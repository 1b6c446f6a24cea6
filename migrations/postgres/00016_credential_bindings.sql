-- +goose Up
-- What is made with an API key ends with the key. A row binds a credential to a key: the
-- credential ends when the key expires or is revoked. A credential that was made by way of
-- several keys has a row for each of them, so no chain of rows is ever followed.
CREATE TABLE credential_bindings (
    kind   TEXT COLLATE "C" NOT NULL CHECK (kind IN ('api_key', 'client', 'client_secret', 'session', 'invitation')),
    -- The id of the client for a client_secret.
    id     TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL REFERENCES api_keys (id) ON DELETE CASCADE,
    PRIMARY KEY (kind, id, key_id)
);
CREATE INDEX credential_bindings_key ON credential_bindings (key_id);

-- A key that the command line printed stands for a person: it binds nothing. Only the command
-- line has made keys for more than 400 days.
ALTER TABLE api_keys ADD COLUMN command_line BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE api_keys SET command_line = TRUE WHERE expires_at - created_at > 34560000000000;

-- Credentials of earlier releases, whose maker is not known. They are bound to no key. The
-- server logs them at its next start and then removes the rows.
CREATE TABLE unbound_credentials (
    kind   TEXT COLLATE "C" NOT NULL,
    id     TEXT COLLATE "C" NOT NULL,
    org_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (kind, id)
);
INSERT INTO unbound_credentials (kind, id, org_id)
    SELECT 'api_key', id, org_id FROM api_keys WHERE command_line = FALSE AND revoked_at IS NULL;
INSERT INTO unbound_credentials (kind, id, org_id) SELECT 'client', id, org_id FROM oauth_clients;

-- +goose Down
DROP TABLE unbound_credentials;
ALTER TABLE api_keys DROP COLUMN command_line;
DROP TABLE credential_bindings;
