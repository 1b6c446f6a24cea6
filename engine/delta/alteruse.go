package delta

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

const (
	// keyColumns is the property, and the key of field metadata, that holds the table's
	// primary key.
	keyColumns = "lakewarden.primaryKey"
	// clusteringDomain is the metadata domain that holds the clustering columns.
	clusteringDomain = "delta.clustering"
)

// checkUnused refuses a column that an expression of the table refers to. The
// expression is Spark SQL, which this package does not rewrite.
func (a *Alteration) checkUnused(path []string) error {
	name := path[len(path)-1]
	used := func(by string) error {
		return fmt.Errorf("column %q is used by %s: %w", strings.Join(path, "."), by, ErrInvalidSchema)
	}
	for property, expr := range a.config {
		if short, ok := strings.CutPrefix(property, prefixConstraint); ok && mentions(expr, name) {
			return used("constraint " + short)
		}
	}
	var found error
	walkFields(a.schema, func(f Field) {
		// A default cannot refer to columns.
		for _, key := range []string{keyInvariants, keyGenerationExpression} {
			if expr, ok := f.MetadataString(key); ok && mentions(unwrapExpression(expr), name) && found == nil {
				found = used("an expression of column " + f.Name)
			}
		}
	})
	return found
}

// unwrapExpression extracts the expression from the JSON of an invariant.
func unwrapExpression(text string) string {
	var doc struct {
		Expression struct {
			Expression string `json:"expression"`
		} `json:"expression"`
	}
	if json.Unmarshal([]byte(text), &doc) == nil && doc.Expression.Expression != "" {
		return doc.Expression.Expression
	}
	return text
}

// mentions reports whether an SQL text may refer to a column. Only single-quoted
// literals are ignored, because double quotes delimit identifiers in some modes.
func mentions(expr, name string) bool {
	rest := expr
	for rest != "" {
		c := rest[0]
		switch {
		case c == '\'':
			_, rest = quotedText(rest)
		case c == '`' || c == '"':
			var word string
			if word, rest = quotedText(rest); strings.EqualFold(word, name) {
				return true
			}
		case identByte(c):
			n := 1
			for n < len(rest) && identByte(rest[n]) {
				n++
			}
			if strings.EqualFold(rest[:n], name) {
				return true
			}
			rest = rest[n:]
		default:
			rest = rest[1:]
		}
	}
	return false
}

func identByte(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// quotedText splits text after the quotation that it begins with. A quote within is
// doubled or, in string literals, escaped. An unterminated quotation extends to the end
// of text.
func quotedText(text string) (content, rest string) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote != '`' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case text[i] != quote:
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == quote:
			i++
			b.WriteByte(quote)
		default:
			return b.String(), text[i+1:]
		}
	}
	return b.String(), ""
}

// checkDroppable refuses columns that other parts of the table depend on.
func (a *Alteration) checkDroppable(path []string) error {
	if err := a.checkUnused(path); err != nil {
		return err
	}
	refuse := func(why string) error {
		return fmt.Errorf("column %q is %s: %w", strings.Join(path, "."), why, ErrInvalidSchema)
	}
	top, _ := a.schema.Field(path[0])
	switch {
	case slices.Contains(a.partitions, path[0]):
		return refuse("a partition column")
	case len(path) == 1 && (string(top.Metadata[keyColumns]) == "true" || slices.Contains(a.primaryKey(), path[0])):
		return refuse("part of the primary key")
	}
	clustered, err := a.base.clusteredBy()
	if err != nil {
		return err
	}
	file := a.filePath(path)
	for _, columns := range clustered {
		if len(columns) >= len(file) && slices.Equal(columns[:len(file)], file) {
			return refuse("a clustering column")
		}
	}
	return nil
}

func (a *Alteration) primaryKey() []string {
	var names []string
	if json.Unmarshal([]byte(a.config[keyColumns]), &names) != nil {
		return nil
	}
	return names
}

// clusteredBy returns the paths of the clustering columns, by their physical names. The
// error is [ErrMalformed].
func (s *Snapshot) clusteredBy() ([][]string, error) {
	d := s.state.domains[clusteringDomain]
	if d == nil {
		return nil, nil
	}
	var doc struct {
		Columns [][]string `json:"clusteringColumns"`
	}
	if err := json.Unmarshal([]byte(d.Configuration), &doc); err != nil {
		return nil, fmt.Errorf("domain %s: %w", clusteringDomain, ErrMalformed)
	}
	return doc.Columns, nil
}

// filePath returns the path with physical names.
func (a *Alteration) filePath(path []string) []string {
	out := slices.Clone(path)
	naming := fileNaming(a.config)
	for n := range path {
		_, _ = editType(a.schema, path[:n], false, func(t DataType, _ bool) (DataType, error) {
			if s, ok := t.(Struct); ok {
				if f, ok := s.Field(path[n]); ok {
					out[n] = naming(f)
				}
			}
			return t, nil
		})
	}
	return out
}

// renameEverywhere applies the rename of a column to partition columns, keys and
// properties.
func (a *Alteration) renameEverywhere(path []string, name string) {
	a.config = withStatsColumns(a.config, path, name)
	if len(path) > 1 {
		return
	}
	replace := func(list []string) []string {
		list = slices.Clone(list)
		for i := range list {
			if list[i] == path[0] {
				list[i] = name
			}
		}
		return list
	}
	a.partitions = replace(a.partitions)
	if key := a.primaryKey(); slices.Contains(key, path[0]) {
		a.config[keyColumns] = jsonList(replace(key))
	}
}

// withStatsColumns returns the properties with the column at path renamed in
// delta.dataSkippingStatsColumns, or removed from it if name is empty.
func withStatsColumns(config map[string]string, path []string, name string) map[string]string {
	text, ok := config[propStatsColumns]
	if !ok {
		return config
	}
	var list [][]string
	for _, column := range parseColumns(text) {
		below := len(column) >= len(path) && slices.EqualFunc(column[:len(path)], path, strings.EqualFold)
		if below && name == "" {
			continue
		}
		if below {
			column[len(path)-1] = name
		}
		list = append(list, column)
	}
	config = maps.Clone(config)
	if len(list) == 0 {
		delete(config, propStatsColumns)
	} else {
		config[propStatsColumns] = printColumns(list)
	}
	return config
}
