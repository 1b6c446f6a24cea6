-- +goose Up
-- What a lease is for: rows that are written, a version that is restored, a
-- vacuum. A replica of the version before knows the first only.
ALTER TABLE write_leases ADD COLUMN kind TEXT COLLATE "C" NOT NULL DEFAULT 'rows';

-- +goose Down
ALTER TABLE write_leases DROP COLUMN kind;
