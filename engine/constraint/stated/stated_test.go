package stated_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/constraint/stated"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// rewritten returns the next version of a table, whose metadata another writer has written anew,
// together with rows or by itself.
func rewritten(t *testing.T, snap *delta.Snapshot, schema delta.Struct, properties map[string]string, rows bool) *delta.Snapshot {
	t.Helper()
	text, err := schema.JSON()
	require.NoError(t, err)
	var body []byte
	line := func(name string, value any) {
		raw, err := json.Marshal(map[string]any{name: value})
		require.NoError(t, err)
		body = append(append(body, raw...), '\n')
	}
	line("commitInfo", map[string]any{"engineInfo": "delta-rs:1", "operation": "WRITE"})
	line("metaData", map[string]any{"id": snap.TableID(), "format": map[string]any{"provider": "parquet", "options": map[string]any{}},
		"schemaString": text, "partitionColumns": []string{}, "configuration": properties})
	if rows {
		line("add", map[string]any{"path": "f.parquet", "partitionValues": map[string]any{}, "size": 1, "modificationTime": 0,
			"dataChange": true})
	}
	require.NoError(t, snap.Bucket().PutIfAbsent(t.Context(), logpath.CommitName(snap.Version()+1), body))
	next, err := snap.Refresh(t.Context())
	require.NoError(t, err)
	return next
}

func TestLostRules(t *testing.T) {
	const physical = "delta.columnMapping.physicalName"
	schema := delta.Struct{Fields: []delta.Field{
		{Name: "a", Type: delta.Long, Nullable: true}, {Name: "b", Type: delta.String, Nullable: true},
		{Name: "u", Type: delta.Long, Nullable: true}, {Name: "n", Type: delta.Long},
	}}
	schema, properties, err := constraint.Keys{Primary: []string{"b", "a"}, Unique: []string{"u"}}.Write(schema,
		map[string]string{"delta.constraints.pos": "n > 0"})
	require.NoError(t, err)
	all := stated.Rules{Primary: []string{"b", "a"}, Unique: []string{"u"}, Required: []string{"n"},
		Checks: map[string]string{"pos": "n > 0"}}
	require.Equal(t, all, stated.In(schema, properties))

	for name, c := range map[string]struct {
		edit    func(f *delta.Field)
		without string // a property
		alter   bool   // by a commit without rows
		gone    bool   // a column that had a rule
		lost    stated.Lost
		stated  bool // the version states all rules
	}{
		"nothing": {stated: true},
		"marks that became texts": {stated: true, edit: func(f *delta.Field) {
			for key := range f.Metadata {
				f.Metadata[key] = json.RawMessage(`"true"`)
			}
		}},
		"all metadata": {
			edit: func(f *delta.Field) { f.Metadata, f.Nullable = nil, true },
			lost: stated.Lost{Keys: constraint.Keys{Unique: []string{"u"}}, Required: []string{"n"}, Marks: true},
		},
		"NOT NULL by name": {
			edit: func(f *delta.Field) { f.Nullable = true }, alter: true,
			lost: stated.Lost{Dropped: []stated.Dropped{{Kind: stated.DroppedNotNull, Name: "n"}}},
		},
		"marks without rows": {
			edit: func(f *delta.Field) { f.Metadata = nil }, alter: true,
			lost: stated.Lost{Keys: constraint.Keys{Unique: []string{"u"}}, Marks: true},
		},
		"a constraint by name": {without: "delta.constraints.pos", alter: true,
			lost: stated.Lost{Dropped: []stated.Dropped{{Kind: stated.DroppedCheck, Name: "pos"}}}},
		"the primary key by name": {without: constraint.PropertyPrimaryKey, alter: true,
			lost: stated.Lost{Dropped: []stated.Dropped{{Kind: stated.DroppedPrimaryKey}}}},
		"a unique column": {gone: true, edit: func(f *delta.Field) {
			if f.Name == "u" {
				f.Name = "other"
			}
		}},
		"a type with equality": {gone: true, edit: func(f *delta.Field) {
			if f.Name == "u" {
				f.Type, f.Metadata = delta.Array{Element: delta.Long, ContainsNull: true}, nil
			}
		}},
		"the name of a key column and its marks": {
			edit: func(f *delta.Field) {
				delete(f.Metadata, constraint.MetadataPrimaryKey)
				if f.Name == "a" {
					f.Name, f.Metadata = "renamed", map[string]json.RawMessage{physical: json.RawMessage(`"a"`)}
				}
			},
			lost: stated.Lost{Keys: constraint.Keys{Primary: []string{"b", "renamed"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			snap, err := delta.Create(t.Context(), mem.New(), delta.CreateOptions{Schema: schema, Properties: properties})
			require.NoError(t, err)
			changed := delta.Struct{}
			for _, f := range schema.Fields {
				meta := map[string]json.RawMessage{}
				for key, value := range f.Metadata {
					meta[key] = value
				}
				f.Metadata = meta
				if c.edit != nil {
					c.edit(&f)
				}
				changed.Fields = append(changed.Fields, f)
			}
			left := map[string]string{}
			for key, value := range snap.Properties() {
				if key != c.without {
					left[key] = value
				}
			}
			next := rewritten(t, snap, changed, left, !c.alter)
			lost := all.LostIn(next, snap.Version())
			require.Equal(t, c.lost, lost)
			require.Equal(t, c.stated, all.Same(stated.In(next.Schema(), next.Properties())))
			if len(lost.Dropped) == 0 && !c.gone {
				require.True(t, all.Same(lost.And(next)), "what is lost is remembered")
			}
			set, err := constraint.Of(next)
			require.NoError(t, err)
			set.Replace(lost.With(set.Keys, next.Schema()), lost.Required)
			require.ElementsMatch(t, set.Keys.Unique, append(constraint.KeysOf(next.Schema(), next.Properties()).Unique, c.lost.Keys.Unique...))
			if len(lost.Required) > 0 {
				require.Equal(t, lost.Required[0], set.Rows()[0].Name)
			}
		})
	}
}

// Rules that an alteration removes are forgotten; others, also lost ones, are not.
func TestRemovedRulesAreForgotten(t *testing.T) {
	before := stated.Rules{Primary: []string{"a"}, Unique: []string{"u"}, Required: []string{"n"},
		Checks: map[string]string{"pos": "x", "neg": "y"}}
	remembered := before
	remembered.Unique = []string{"u", "lost"}
	after := stated.Rules{Checks: map[string]string{"neg": "y"}}
	left := stated.Rules{Unique: []string{"lost"}, Checks: map[string]string{"neg": "y"}}
	require.True(t, remembered.Without(before, after).Same(left))
	require.True(t, remembered.Without(before, before).Same(remembered))
}
