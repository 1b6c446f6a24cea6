-- +goose Up
-- A key with all_workspaces reaches every workspace of its owner; its workspace_id is
-- the default one. Servers of earlier releases treat it as a key for that workspace.
ALTER TABLE api_keys ADD COLUMN all_workspaces BOOLEAN NOT NULL DEFAULT FALSE;
-- The client's address; empty where there is none.
ALTER TABLE audit_entries ADD COLUMN remote TEXT COLLATE "C" NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE audit_entries DROP COLUMN remote;
ALTER TABLE api_keys DROP COLUMN all_workspaces;
