-- +goose Up
-- A key that reaches every workspace of its owner; its workspace_id is then the
-- default one. A replica of the version before takes it for a key of that one.
ALTER TABLE api_keys ADD COLUMN all_workspaces INTEGER NOT NULL DEFAULT 0 CHECK (all_workspaces IN (0, 1));
-- The client's address; empty where there is none.
ALTER TABLE audit_entries ADD COLUMN remote TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE audit_entries DROP COLUMN remote;
ALTER TABLE api_keys DROP COLUMN all_workspaces;
