-- +goose Up
-- The shared domain of a column can be deleted while the table is dropped or vanished: then
-- the column refers to none, and must not be written to until it has another domain, or none.
CREATE TABLE new_column_domains (
    org_id        TEXT NOT NULL REFERENCES organisations (id),
    delta_id      TEXT NOT NULL,
    column_name   TEXT NOT NULL,
    -- Empty unless the domain is hierarchical.
    parent_column TEXT NOT NULL,
    -- NULL if the domain was deleted.
    domain_id     TEXT REFERENCES domains (id) ON DELETE SET NULL,
    PRIMARY KEY (org_id, delta_id, column_name)
) STRICT;
INSERT INTO new_column_domains SELECT org_id, delta_id, column_name, parent_column, domain_id FROM column_domains;
DROP TABLE column_domains;
ALTER TABLE new_column_domains RENAME TO column_domains;
CREATE INDEX column_domains_domain ON column_domains (domain_id);

-- +goose Down
-- Instead of a deleted domain, a column gets one that allows no value.
INSERT INTO domains (id, org_id, name, name_key, description, kind, source_config_id, source_delta_id, source_column,
    source_parent_key, range_min, range_max, range_inclusive, version, created_by, created_at, updated_at)
    SELECT a.org_id || '/' || a.delta_id || '/' || a.column_name, a.org_id, '', '', '', 'fixed', '', '', '', '', '', '', 0, 1, '', 0, 0
    FROM column_domains a WHERE a.domain_id IS NULL;
CREATE TABLE new_column_domains (
    org_id        TEXT NOT NULL REFERENCES organisations (id),
    delta_id      TEXT NOT NULL,
    column_name   TEXT NOT NULL,
    parent_column TEXT NOT NULL,
    domain_id     TEXT NOT NULL REFERENCES domains (id),
    PRIMARY KEY (org_id, delta_id, column_name)
) STRICT;
INSERT INTO new_column_domains SELECT org_id, delta_id, column_name, CASE WHEN domain_id IS NULL THEN '' ELSE parent_column END,
    COALESCE(domain_id, org_id || '/' || delta_id || '/' || column_name) FROM column_domains;
DROP TABLE column_domains;
ALTER TABLE new_column_domains RENAME TO column_domains;
CREATE INDEX column_domains_domain ON column_domains (domain_id);
