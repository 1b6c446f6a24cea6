-- +goose Up
-- When a discovery first failed to find a live table. The next ones, some time later, decide whether
-- it has vanished. NULL for a table that was found.
ALTER TABLE delta_tables ADD COLUMN missing_since INTEGER;

-- +goose Down
ALTER TABLE delta_tables DROP COLUMN missing_since;
