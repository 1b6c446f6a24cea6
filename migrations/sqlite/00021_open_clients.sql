-- +goose Up
-- Clients that registered themselves. They belong to no organisation.
CREATE TABLE open_clients (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    created_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX open_clients_age ON open_clients (created_at, id);

-- The session of the browser in which the person allowed the program; empty for other sessions.
ALTER TABLE token_sessions ADD COLUMN parent_id TEXT NOT NULL DEFAULT '';
CREATE INDEX token_sessions_client ON token_sessions (client_id) WHERE client_id <> '';
CREATE INDEX token_sessions_parent ON token_sessions (parent_id) WHERE parent_id <> '';

-- +goose Down
DROP INDEX token_sessions_parent;
DROP INDEX token_sessions_client;
ALTER TABLE token_sessions DROP COLUMN parent_id;
DROP TABLE open_clients;
