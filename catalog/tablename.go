package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxTableNameLength bounds the SQL name of a table, in characters.
const MaxTableNameLength = 200

// ValidateTableName returns nil or [FieldErrors] for a name that a person chose.
func ValidateTableName(field, name string) error {
	var e FieldErrors
	e.tableName(field, name)
	return e.Err()
}

func (e *FieldErrors) tableName(field, name string) {
	if name == "" || len(name) > MaxTableNameLength || identifier(name) != name {
		e.add(field, "must be 1 to %d letters, digits or '_' and must not start with a digit", MaxTableNameLength)
	}
}

// PathName derives a table's name from its path below the root: '/' becomes "__" and
// every other character that needs quoting becomes '_'. A table at the root itself gets
// the name of the configuration.
func PathName(path, slug string) string {
	if path == "" {
		return shorten(slug)
	}
	return shorten(identifier(strings.ReplaceAll(path, "/", "__")))
}

// shorten leaves room for the suffix that distinguishes equal names.
func shorten(name string) string {
	const limit = MaxTableNameLength - 33
	if len(name) > limit {
		return name[:limit]
	}
	return name
}

// FreeName returns the first free name for the table: the one derived from the path,
// then that with 8 hexadecimal digits of the Delta id, then with digits of the
// registration's own id, which is unique. taken is called with names in the form of
// [FoldName].
func FreeName(path, slug string, delta DeltaID, id TableID, taken func(folded string) bool) string {
	base := PathName(path, slug)
	own := hexDigits(id)
	candidates := []string{base, base + "_" + deltaDigits(delta), base + "_" + own[:min(8, len(own))]}
	for _, name := range candidates {
		if !taken(FoldName(name)) {
			return name
		}
	}
	return base + "_" + own
}

// deltaDigits returns 8 hexadecimal digits for a Delta id: its own first ones if it is
// a UUID, otherwise those of its hash.
func deltaDigits(id DeltaID) string {
	digits := strings.ToLower(strings.ReplaceAll(string(id), "-", ""))
	if raw, err := hex.DecodeString(digits); err == nil && len(raw) >= 4 {
		return digits[:8]
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:4])
}
