-- +goose Up
-- Who alone can go on with the write; empty where its end says nothing.
ALTER TABLE write_leases ADD COLUMN holder TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE write_leases DROP COLUMN holder;
