-- +goose Up
CREATE TABLE write_leases (
    id         TEXT COLLATE "C" PRIMARY KEY,
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    -- No reference: a table is written to before it is registered.
    delta_id   TEXT COLLATE "C" NOT NULL,
    begun_at   BIGINT NOT NULL,
    renewed_at BIGINT NOT NULL
);
CREATE INDEX write_leases_table ON write_leases (org_id, delta_id, begun_at);
CREATE INDEX write_leases_renewed ON write_leases (renewed_at);

-- +goose Down
DROP TABLE write_leases;
