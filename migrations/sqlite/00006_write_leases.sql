-- +goose Up
CREATE TABLE write_leases (
    id         TEXT PRIMARY KEY,
    org_id     TEXT NOT NULL REFERENCES organisations (id),
    -- No reference: a table is written to before it is registered.
    delta_id   TEXT NOT NULL,
    begun_at   INTEGER NOT NULL,
    renewed_at INTEGER NOT NULL
) STRICT;
CREATE INDEX write_leases_table ON write_leases (org_id, delta_id, begun_at);
CREATE INDEX write_leases_renewed ON write_leases (renewed_at);

-- +goose Down
DROP TABLE write_leases;
