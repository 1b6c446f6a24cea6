-- +goose Up
-- What restricts the values of columns. A domain without a name belongs to one column.
CREATE TABLE domains (
    id                TEXT COLLATE "C" PRIMARY KEY,
    org_id            TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    name              TEXT COLLATE "C" NOT NULL,
    name_key          TEXT COLLATE "C" NOT NULL,
    description       TEXT COLLATE "C" NOT NULL,
    kind              TEXT COLLATE "C" NOT NULL CHECK (kind IN ('fixed', 'hierarchical', 'reference', 'range')),
    -- Empty without a source. No reference: a table is identified by its own id, wherever
    -- it is registered.
    source_config_id  TEXT COLLATE "C" NOT NULL,
    source_delta_id   TEXT COLLATE "C" NOT NULL,
    source_column     TEXT COLLATE "C" NOT NULL,
    source_parent_key TEXT COLLATE "C" NOT NULL,
    range_min         TEXT COLLATE "C" NOT NULL,
    range_max         TEXT COLLATE "C" NOT NULL,
    range_inclusive   BOOLEAN NOT NULL,
    version           BIGINT NOT NULL,
    created_by        TEXT COLLATE "C" NOT NULL,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL
);
CREATE UNIQUE INDEX domains_name ON domains (org_id, name_key) WHERE name_key <> '';
CREATE INDEX domains_source ON domains (org_id, source_delta_id);

-- The columns that a domain restricts, by their physical names.
CREATE TABLE column_domains (
    org_id        TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    delta_id      TEXT COLLATE "C" NOT NULL,
    column_name   TEXT COLLATE "C" NOT NULL,
    -- Empty unless the domain is hierarchical.
    parent_column TEXT COLLATE "C" NOT NULL,
    domain_id     TEXT COLLATE "C" NOT NULL REFERENCES domains (id),
    PRIMARY KEY (org_id, delta_id, column_name)
);
CREATE INDEX column_domains_domain ON column_domains (domain_id);

CREATE TABLE domain_values (
    id          TEXT COLLATE "C" PRIMARY KEY,
    domain_id   TEXT COLLATE "C" NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    -- Empty unless the value is a child.
    parent_id   TEXT COLLATE "C" NOT NULL,
    value       TEXT COLLATE "C" NOT NULL,
    label       TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    -- The next text of a value that is being renamed in rows; otherwise empty.
    joining     TEXT COLLATE "C" NOT NULL,
    ordinal     BIGINT NOT NULL
);
CREATE UNIQUE INDEX domain_values_value ON domain_values (domain_id, parent_id, value);

-- The version rises with each change of the domains of a table. A table without a row
-- has version 0.
CREATE TABLE table_domain_versions (
    org_id   TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    delta_id TEXT COLLATE "C" NOT NULL,
    version  BIGINT NOT NULL,
    PRIMARY KEY (org_id, delta_id)
);

-- Changes of values that rows may have, until no row has the former text.
CREATE TABLE value_changes (
    id          TEXT COLLATE "C" PRIMARY KEY,
    org_id      TEXT COLLATE "C" NOT NULL REFERENCES organisations (id),
    domain_id   TEXT COLLATE "C" NOT NULL UNIQUE REFERENCES domains (id) ON DELETE CASCADE,
    kind        TEXT COLLATE "C" NOT NULL CHECK (kind IN ('rename', 'replace', 'delete')),
    value_id    TEXT COLLATE "C" NOT NULL,
    from_text   TEXT COLLATE "C" NOT NULL,
    to_text     TEXT COLLATE "C" NOT NULL,
    parent_text TEXT COLLATE "C" NOT NULL,
    narrowed    BOOLEAN NOT NULL,
    withdrawn   BOOLEAN NOT NULL,
    changed_by  TEXT COLLATE "C" NOT NULL,
    holder      TEXT COLLATE "C" NOT NULL,
    renewed_at  BIGINT NOT NULL
);
CREATE INDEX value_changes_renewed ON value_changes (renewed_at);

-- The version of the table's domains under which a write is committing; NULL while it is
-- not committing, and for writes of earlier releases, which do not know domains.
ALTER TABLE write_leases ADD COLUMN publishing BIGINT;

-- +goose Down
ALTER TABLE write_leases DROP COLUMN publishing;
DROP TABLE value_changes;
DROP TABLE table_domain_versions;
DROP TABLE domain_values;
DROP TABLE column_domains;
DROP TABLE domains;
