-- +goose Up
-- Clients that registered themselves. They belong to no organisation.
CREATE TABLE open_clients (
    id            TEXT COLLATE "C" PRIMARY KEY,
    name          TEXT COLLATE "C" NOT NULL,
    redirect_uris TEXT COLLATE "C" NOT NULL,
    scopes        TEXT COLLATE "C" NOT NULL,
    created_at    BIGINT NOT NULL
);
CREATE INDEX open_clients_age ON open_clients (created_at, id);

-- The session of the browser in which the person allowed the program; empty for other sessions.
ALTER TABLE token_sessions ADD COLUMN parent_id TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX token_sessions_client ON token_sessions (client_id) WHERE client_id <> '';
CREATE INDEX token_sessions_parent ON token_sessions (parent_id) WHERE parent_id <> '';

-- +goose Down
DROP INDEX token_sessions_parent;
DROP INDEX token_sessions_client;
ALTER TABLE token_sessions DROP COLUMN parent_id;
DROP TABLE open_clients;
