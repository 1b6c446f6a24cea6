-- +goose Up
-- Deletions of files of tables, after which replicas drop what they have cached of them. A row
-- without a table concerns no rows of stored results.
CREATE TABLE file_deletions (
    -- The epoch at which the deletion was recorded.
    epoch      INTEGER PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES organisations (id),
    -- No references: the record outlives the configuration and the table.
    config_id  TEXT NOT NULL,
    path       TEXT NOT NULL,
    delta_id   TEXT NOT NULL,
    -- Versions before this one may lack files.
    kept       INTEGER NOT NULL,
    deleted_at INTEGER NOT NULL
) STRICT;
CREATE INDEX file_deletions_time ON file_deletions (deleted_at);
CREATE INDEX file_deletions_org ON file_deletions (org_id);

-- +goose Down
DROP TABLE file_deletions;
