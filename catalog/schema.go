package catalog

import (
	"strings"

	"github.com/google/uuid"
)

// CatalogName is the name of the one SQL catalog.
const CatalogName = "lake"

const schemaPrefix = "cfg_"

// SchemaName is the SQL schema of a storage configuration: cfg_ and the 32
// hexadecimal digits of its id.
func SchemaName(id ConfigID) string { return schemaPrefix + hexDigits(id) }

// ParseSchemaName parses cfg_<32 digits> or cfg_<UUID with dashes>, in either case. Any
// other name can only be a slug.
func ParseSchemaName(schema string) (ConfigID, bool) {
	if len(schema) < len(schemaPrefix) || !strings.EqualFold(schema[:len(schemaPrefix)], schemaPrefix) {
		return "", false
	}
	rest := schema[len(schemaPrefix):]
	if len(rest) != 32 && len(rest) != 36 {
		return "", false
	}
	id, err := uuid.Parse(rest)
	if err != nil {
		return "", false
	}
	return ConfigID(id.String()), true
}

// reservedSchemas are names with a special meaning in SQL. A slug never equals one of
// them.
var reservedSchemas = map[string]bool{
	"information_schema": true, "main": true, "pg_catalog": true,
	"system": true, "temp": true, CatalogName: true,
}

// Slug turns the name of a configuration into an SQL identifier that needs no quotes:
// lower case, with other characters replaced by '_'. Two names can have the same slug.
// It then resolves only for callers who see just one of them.
func Slug(name string) string {
	slug := identifier(strings.ToLower(name))
	if _, isID := ParseSchemaName(slug); isID || reservedSchemas[slug] {
		slug += "_"
	}
	return slug
}

// FoldName returns the form in which names of tables and schemas are compared: the
// engine folds ASCII letters only.
func FoldName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, name)
}

// identifier replaces every character that would need quoting by '_' and ensures that
// the result does not start with a digit.
func identifier(text string) string {
	var b strings.Builder
	for i, r := range text {
		if i == 0 && r >= '0' && r <= '9' {
			b.WriteByte('_')
		}
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}
