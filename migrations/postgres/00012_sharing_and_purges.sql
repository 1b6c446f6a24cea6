-- +goose Up
-- The last attach of a storage configuration by each user, for its undo.
CREATE TABLE storage_attaches (
    config_id              TEXT COLLATE "C" NOT NULL REFERENCES storage_configs (id) ON DELETE CASCADE,
    attached_by            TEXT COLLATE "C" NOT NULL,
    previous_owner_user_id TEXT COLLATE "C" NOT NULL,
    -- NULL for a configuration that was personal. No reference: the record outlives the
    -- workspace once its window is over.
    previous_workspace_id  TEXT COLLATE "C",
    undo_until             BIGINT NOT NULL,
    -- Set by the undo, and by another attach of the configuration.
    closed_at              BIGINT,
    PRIMARY KEY (config_id, attached_by)
);
CREATE UNIQUE INDEX storage_attaches_open ON storage_attaches (config_id) WHERE closed_at IS NULL;

-- Since when the files of a dropped table have been deleted. It cannot be restored any more.
ALTER TABLE delta_tables ADD COLUMN purging_at BIGINT;
-- The location of the sandbox of a purged organisation until the files are deleted, then empty.
ALTER TABLE purged_organisations ADD COLUMN sandbox TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE purged_organisations DROP COLUMN sandbox;
ALTER TABLE delta_tables DROP COLUMN purging_at;
DROP TABLE storage_attaches;
