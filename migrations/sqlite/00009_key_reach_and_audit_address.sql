-- +goose Up
-- A key with all_workspaces reaches every workspace of its owner; its workspace_id is
-- the default one. Servers of earlier releases treat it as a key for that workspace.
ALTER TABLE api_keys ADD COLUMN all_workspaces INTEGER NOT NULL DEFAULT 0 CHECK (all_workspaces IN (0, 1));
-- The client's address; empty where there is none.
ALTER TABLE audit_entries ADD COLUMN remote TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE audit_entries DROP COLUMN remote;
ALTER TABLE api_keys DROP COLUMN all_workspaces;
