-- +goose Up
-- When a person deleted the account. The record stays without name and address, because others refer
-- to its id. NULL for everybody else.
ALTER TABLE users ADD COLUMN deleted_at INTEGER;

-- +goose Down
ALTER TABLE users DROP COLUMN deleted_at;
