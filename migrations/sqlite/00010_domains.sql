-- +goose Up
-- What restricts the values of columns. A domain without a name belongs to one column.
CREATE TABLE domains (
    id                TEXT PRIMARY KEY,
    org_id            TEXT NOT NULL REFERENCES organisations (id),
    name              TEXT NOT NULL,
    name_key          TEXT NOT NULL,
    description       TEXT NOT NULL,
    kind              TEXT NOT NULL CHECK (kind IN ('fixed', 'hierarchical', 'reference', 'range')),
    -- Empty without a source. No reference: a table is identified by its own id, wherever
    -- it is registered.
    source_config_id  TEXT NOT NULL,
    source_delta_id   TEXT NOT NULL,
    source_column     TEXT NOT NULL,
    source_parent_key TEXT NOT NULL,
    range_min         TEXT NOT NULL,
    range_max         TEXT NOT NULL,
    range_inclusive   INTEGER NOT NULL CHECK (range_inclusive IN (0, 1)),
    version           INTEGER NOT NULL,
    created_by        TEXT NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX domains_name ON domains (org_id, name_key) WHERE name_key <> '';
CREATE INDEX domains_source ON domains (org_id, source_delta_id);

-- The columns that a domain restricts, by their physical names.
CREATE TABLE column_domains (
    org_id        TEXT NOT NULL REFERENCES organisations (id),
    delta_id      TEXT NOT NULL,
    column_name   TEXT NOT NULL,
    -- Empty unless the domain is hierarchical.
    parent_column TEXT NOT NULL,
    domain_id     TEXT NOT NULL REFERENCES domains (id),
    PRIMARY KEY (org_id, delta_id, column_name)
) STRICT;
CREATE INDEX column_domains_domain ON column_domains (domain_id);

CREATE TABLE domain_values (
    id          TEXT PRIMARY KEY,
    domain_id   TEXT NOT NULL REFERENCES domains (id) ON DELETE CASCADE,
    -- Empty unless the value is a child.
    parent_id   TEXT NOT NULL,
    value       TEXT NOT NULL,
    label       TEXT NOT NULL,
    description TEXT NOT NULL,
    -- The next text of a value that is being renamed in rows; otherwise empty.
    joining     TEXT NOT NULL,
    ordinal     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX domain_values_value ON domain_values (domain_id, parent_id, value);

-- The version rises with each change of the domains of a table. A table without a row
-- has version 0.
CREATE TABLE table_domain_versions (
    org_id   TEXT NOT NULL REFERENCES organisations (id),
    delta_id TEXT NOT NULL,
    version  INTEGER NOT NULL,
    PRIMARY KEY (org_id, delta_id)
) STRICT;

-- Changes of values that rows may have, until no row has the former text.
CREATE TABLE value_changes (
    id          TEXT PRIMARY KEY,
    org_id      TEXT NOT NULL REFERENCES organisations (id),
    domain_id   TEXT NOT NULL UNIQUE REFERENCES domains (id) ON DELETE CASCADE,
    kind        TEXT NOT NULL CHECK (kind IN ('rename', 'replace', 'delete')),
    value_id    TEXT NOT NULL,
    from_text   TEXT NOT NULL,
    to_text     TEXT NOT NULL,
    parent_text TEXT NOT NULL,
    narrowed    INTEGER NOT NULL CHECK (narrowed IN (0, 1)),
    withdrawn   INTEGER NOT NULL CHECK (withdrawn IN (0, 1)),
    changed_by  TEXT NOT NULL,
    holder      TEXT NOT NULL,
    renewed_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX value_changes_renewed ON value_changes (renewed_at);

-- The version of the table's domains under which a write is committing; NULL while it is
-- not committing, and for writes of earlier releases, which do not know domains.
ALTER TABLE write_leases ADD COLUMN publishing INTEGER;

-- +goose Down
ALTER TABLE write_leases DROP COLUMN publishing;
DROP TABLE value_changes;
DROP TABLE table_domain_versions;
DROP TABLE domain_values;
DROP TABLE column_domains;
DROP TABLE domains;
