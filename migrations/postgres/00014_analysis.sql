-- +goose Up
-- Organisations' access to the vendors of models that word analyses.
CREATE TABLE analysis_providers (
    org_id     TEXT COLLATE "C" NOT NULL REFERENCES organisations (id) ON DELETE CASCADE,
    family     TEXT COLLATE "C" NOT NULL,
    -- Empty for the address that the operator has set.
    base_url   TEXT COLLATE "C" NOT NULL,
    sealed_key BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (org_id, family)
);

-- The recent analyses of an organisation on all replicas.
CREATE TABLE analysis_rates (
    org_id  TEXT COLLATE "C" PRIMARY KEY REFERENCES organisations (id) ON DELETE CASCADE,
    -- A JSON array of the times at which they began.
    begun   TEXT COLLATE "C" NOT NULL,
    last_at BIGINT NOT NULL
);

-- What analyses have used of models, by days since 1970-01-01 in UTC.
CREATE TABLE analysis_use (
    org_id        TEXT COLLATE "C" NOT NULL REFERENCES organisations (id) ON DELETE CASCADE,
    day           BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    -- Millionths of a US dollar.
    cost_micros   BIGINT NOT NULL,
    PRIMARY KEY (org_id, day)
);

-- +goose Down
DROP TABLE analysis_use;
DROP TABLE analysis_rates;
DROP TABLE analysis_providers;
