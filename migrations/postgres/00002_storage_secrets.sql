-- +goose Up
-- Sealed credentials lie apart from the records, which are read everywhere.
CREATE TABLE storage_secrets (
    config_id TEXT COLLATE "C" PRIMARY KEY REFERENCES storage_configs (id) ON DELETE CASCADE,
    sealed    BYTEA NOT NULL
);
INSERT INTO storage_secrets (config_id, sealed)
    SELECT id, sealed_secret FROM storage_configs WHERE sealed_secret IS NOT NULL;
ALTER TABLE storage_configs DROP COLUMN sealed_secret;

-- +goose Down
ALTER TABLE storage_configs ADD COLUMN sealed_secret BYTEA;
UPDATE storage_configs SET sealed_secret = (SELECT sealed FROM storage_secrets WHERE config_id = storage_configs.id);
DROP TABLE storage_secrets;
