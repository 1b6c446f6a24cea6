-- +goose Up
-- The deletion of files that the holder of the lease has begun. If the lease is lost, the deletion
-- is recorded in file_deletions. NULL for a lease under which nothing is deleted.
ALTER TABLE write_leases ADD COLUMN deleting_config_id TEXT COLLATE "C";
ALTER TABLE write_leases ADD COLUMN deleting_path TEXT COLLATE "C";
ALTER TABLE write_leases ADD COLUMN deleting_kept BIGINT;

-- +goose Down
ALTER TABLE write_leases DROP COLUMN deleting_kept;
ALTER TABLE write_leases DROP COLUMN deleting_path;
ALTER TABLE write_leases DROP COLUMN deleting_config_id;
