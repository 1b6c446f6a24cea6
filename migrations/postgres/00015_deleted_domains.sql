-- +goose Up
-- The shared domain of a column can be deleted while the table is dropped or vanished: then
-- the column refers to none, and must not be written to until it has another domain, or none.
ALTER TABLE column_domains ALTER COLUMN domain_id DROP NOT NULL;
ALTER TABLE column_domains DROP CONSTRAINT column_domains_domain_id_fkey;
ALTER TABLE column_domains ADD CONSTRAINT column_domains_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domains (id) ON DELETE SET NULL;

-- +goose Down
-- Instead of a deleted domain, a column gets one that allows no value.
INSERT INTO domains (id, org_id, name, name_key, description, kind, source_config_id, source_delta_id, source_column,
    source_parent_key, range_min, range_max, range_inclusive, version, created_by, created_at, updated_at)
    SELECT a.org_id || '/' || a.delta_id || '/' || a.column_name, a.org_id, '', '', '', 'fixed', '', '', '', '', '', '', FALSE, 1, '', 0, 0
    FROM column_domains a WHERE a.domain_id IS NULL;
UPDATE column_domains SET domain_id = org_id || '/' || delta_id || '/' || column_name, parent_column = '' WHERE domain_id IS NULL;
ALTER TABLE column_domains DROP CONSTRAINT column_domains_domain_id_fkey;
ALTER TABLE column_domains ADD CONSTRAINT column_domains_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domains (id);
ALTER TABLE column_domains ALTER COLUMN domain_id SET NOT NULL;
