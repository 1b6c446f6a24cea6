package constraint

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Set holds the rules for the rows of a table. It is valid for one snapshot: other metadata makes
// another set.
type Set struct {
	// Keys are the keys of the schema; see [Set.AllKeys].
	Keys   Keys
	schema delta.Struct
	rows   []Rule
	// filled holds the defaults by column. unfilled holds the columns whose default
	// cannot be evaluated.
	filled   map[string]Default
	unfilled []string
}

// Of reads the rules of a snapshot. A constraint or invariant without an unambiguous meaning is a
// [delta.FeatureError] that names it: the table cannot be written to.
func Of(snap *delta.Snapshot) (*Set, error) {
	s := &Set{Keys: KeysOf(snap.Schema(), snap.Properties()), schema: snap.Schema()}
	s.rows = append(notNull(snap.Schema()), voidColumns(snap.Schema())...)
	if err := s.defaults(); err != nil {
		return nil, err
	}
	if err := s.invariants(); err != nil {
		return nil, err
	}
	constraints := snap.Constraints()
	for _, name := range slices.Sorted(maps.Keys(constraints)) {
		check, err := ParseSpark(s.schema, constraints[name])
		if err != nil {
			return nil, untranslatable("CHECK constraint "+name, err)
		}
		s.rows = append(s.rows, CheckRule(name, check))
	}
	return s, nil
}

// voidColumns returns the rules that void columns are NULL, because files cannot hold their values.
func voidColumns(schema delta.Struct) []Rule {
	var out []Rule
	for _, f := range schema.Fields {
		if f.Type == delta.Void {
			column := f.Name
			out = append(out, Rule{Kind: Checked, Name: "void " + column, Column: column, Columns: []string{column},
				broken: func(alias string) string {
					return engine.QuoteIdent(alias) + "." + engine.QuoteIdent(column) + " IS NOT NULL"
				}})
		}
	}
	return out
}

// Add adds a constraint of the catalog, whose text is its author's. If a column that it refers to
// does not exist any more, the error is a [delta.FeatureError] that names the constraint. Other
// errors are those of the parser.
func (s *Set) Add(ctx context.Context, parser engine.Parser, name, text string) error {
	check, err := ParseCheck(ctx, parser, s.schema, text)
	if errors.Is(err, ErrInvalidCheck) {
		return untranslatable("CHECK constraint "+name, err)
	}
	if err == nil {
		s.rows = append(s.rows, CheckRule(name, check))
	}
	return err
}

// Replace replaces the keys, and adds columns that are NOT NULL, for rules that hold although the
// snapshot does not state them.
func (s *Set) Replace(keys Keys, required []string) {
	s.Keys = keys
	for _, column := range required {
		s.rows = slices.Insert(s.rows, 0, RequireColumn(column))
	}
}

// Rows returns the rules for single rows: NOT NULL, void columns, then invariants and
// constraints.
func (s *Set) Rows() []Rule { return slices.Clone(s.rows) }

// AllKeys returns the keys, the primary key first.
func (s *Set) AllKeys() []Key { return s.Keys.In(s.schema) }

// Duties returns the duties that a commit fulfils for rows that break none of the rules, with the
// values of [Set.Default] in the columns that they do not name.
func (s *Set) Duties() []delta.Duty {
	return []delta.Duty{delta.EvaluatesChecks, delta.EvaluatesInvariants, delta.FillsDefaults}
}

// metadataInvariants is field metadata of the protocol, "Column Invariants".
const metadataInvariants = "delta.invariants"

// invariants reads the invariants of the columns and of the members of structs.
func (s *Set) invariants() error { return s.invariantsOf(s.schema, "") }

func (s *Set) invariantsOf(t delta.DataType, above string) error {
	switch t := t.(type) {
	case delta.Array:
		return s.invariantsOf(t.Element, above+"element.")
	case delta.Map:
		if err := s.invariantsOf(t.Key, above+"key."); err != nil {
			return err
		}
		return s.invariantsOf(t.Value, above+"value.")
	case delta.Struct:
		for _, f := range t.Fields {
			if err := s.invariant(f, above+f.Name); err != nil {
				return err
			}
			if err := s.invariantsOf(f.Type, above+f.Name+"."); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Set) invariant(f delta.Field, path string) error {
	text, ok := f.MetadataString(metadataInvariants)
	if _, has := f.Metadata[metadataInvariants]; !has {
		return nil
	}
	var outer struct {
		Expression struct {
			Expression string `json:"expression"`
		} `json:"expression"`
	}
	// The message names the feature only, because the column may be hidden from the caller.
	const what = "column invariants"
	if !ok || json.Unmarshal([]byte(text), &outer) != nil {
		return untranslatable(what, nil)
	}
	check, err := ParseSpark(s.schema, outer.Expression.Expression)
	if err != nil {
		return untranslatable(what, err)
	}
	s.rows = append(s.rows, CheckRule(path, check))
	return nil
}
