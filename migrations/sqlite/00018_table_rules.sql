-- +goose Up
-- What is known of the rules in the logs of registered tables, in case that another writer
-- loses them.
CREATE TABLE table_rules (
    table_id TEXT PRIMARY KEY REFERENCES delta_tables (id) ON DELETE CASCADE,
    -- The table's own id, and its version, when the rules were read.
    delta_id TEXT NOT NULL,
    version  INTEGER NOT NULL,
    -- JSON.
    stated   TEXT NOT NULL,
    dropped  TEXT NOT NULL
) STRICT;

-- +goose Down
DROP TABLE table_rules;
