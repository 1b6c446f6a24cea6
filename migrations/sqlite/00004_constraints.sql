-- +goose Up
-- CHECK constraints that the tables' own logs do not hold.
CREATE TABLE table_constraints (
    org_id     TEXT NOT NULL REFERENCES organisations (id),
    -- No reference: rules hang on the table's own id, wherever it is registered.
    delta_id   TEXT NOT NULL,
    name       TEXT NOT NULL,
    name_key   TEXT NOT NULL,
    expression TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (org_id, delta_id, name_key)
) STRICT;

-- +goose Down
DROP TABLE table_constraints;
