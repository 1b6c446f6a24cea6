-- +goose Up
-- Organisations' access to the vendors of models that word analyses.
CREATE TABLE analysis_providers (
    org_id     TEXT NOT NULL REFERENCES organisations (id) ON DELETE CASCADE,
    family     TEXT NOT NULL,
    -- Empty for the address that the operator has set.
    base_url   TEXT NOT NULL,
    sealed_key BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (org_id, family)
) STRICT;

-- The recent analyses of an organisation on all replicas.
CREATE TABLE analysis_rates (
    org_id  TEXT PRIMARY KEY REFERENCES organisations (id) ON DELETE CASCADE,
    -- A JSON array of the times at which they began.
    begun   TEXT NOT NULL,
    last_at INTEGER NOT NULL
) STRICT;

-- What analyses have used of models, by days since 1970-01-01 in UTC.
CREATE TABLE analysis_use (
    org_id        TEXT NOT NULL REFERENCES organisations (id) ON DELETE CASCADE,
    day           INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    -- Millionths of a US dollar.
    cost_micros   INTEGER NOT NULL,
    PRIMARY KEY (org_id, day)
) STRICT;

-- +goose Down
DROP TABLE analysis_use;
DROP TABLE analysis_rates;
DROP TABLE analysis_providers;
