-- +goose Up
-- CHECK constraints that the tables' own logs do not hold.
CREATE TABLE table_constraints (
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    -- No reference: rules hang on the table's own id, wherever it is registered.
    delta_id   TEXT COLLATE "C" NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    name_key   TEXT COLLATE "C" NOT NULL,
    expression TEXT COLLATE "C" NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, delta_id, name_key)
);

-- +goose Down
DROP TABLE table_constraints;
