package delta_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
	"github.com/lakewarden/lakewarden/engine/oracletest"
)

var (
	someMembers = delta.Struct{Fields: []delta.Field{
		{Name: "x", Type: delta.Integer, Nullable: true},
		{Name: "y", Type: delta.String, Nullable: true},
	}}
	manyColumns = delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Long, Nullable: true, Metadata: map[string]json.RawMessage{"lakewarden.primaryKey": json.RawMessage("true"),
			"theirs": json.RawMessage(`{"a":[1]}`)}},
		{Name: "p", Type: delta.String, Nullable: true},
		{Name: "n", Type: delta.Integer, Nullable: true},
		{Name: "st", Type: someMembers, Nullable: true},
		{Name: "list", Type: delta.Array{Element: someMembers, ContainsNull: true}, Nullable: true},
		{Name: "m", Type: delta.Map{Key: delta.String, Value: delta.Short, ValueContainsNull: true}, Nullable: true},
	}}
)

func wideTable(t *testing.T, properties map[string]string) *delta.Snapshot {
	t.Helper()
	all := map[string]string{"lakewarden.primaryKey": `["id"]`, "someone.else": "kept"}
	for k, v := range properties {
		all[k] = v
	}
	return mustCreate(t, mem.New(), delta.CreateOptions{Schema: manyColumns, PartitionColumns: []string{"p"}, Properties: all})
}

// mustAlter commits an alteration.
func mustAlter(t *testing.T, s *delta.Snapshot, edit func(a *delta.Alteration) error) *delta.Snapshot {
	t.Helper()
	a := s.Alter()
	require.NoError(t, edit(a))
	c, err := a.Change()
	require.NoError(t, err)
	txn := s.Begin(delta.Operation{Name: "ALTER"})
	txn.Alter(c)
	next, err := txn.Commit(t.Context())
	require.NoError(t, err)
	return next
}

func field(t *testing.T, s delta.Struct, path ...string) delta.Field {
	t.Helper()
	f, ok := s.Field(path[0])
	require.True(t, ok, path)
	for _, name := range path[1:] {
		switch inner := f.Type.(type) {
		case delta.Struct:
			f, ok = inner.Field(name)
			require.True(t, ok, path)
		case delta.Array:
			f = delta.Field{Name: name, Type: inner.Element}
		case delta.Map:
			f = delta.Field{Name: name, Type: inner.Value}
		}
	}
	return f
}

func columnID(t *testing.T, f delta.Field) int {
	t.Helper()
	var id int
	require.NoError(t, json.Unmarshal(f.Metadata["delta.columnMapping.id"], &id))
	return id
}

func TestAddColumn(t *testing.T) {
	s := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{}), 1)
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		return a.AddColumn(nil, delta.Field{Name: "extra", Type: delta.TimestampNTZ, Nullable: true})
	})
	require.Equal(t, []string{"id", "s", "extra"}, names(s.Schema()))
	require.False(t, s.WholeFiles())
	require.Contains(t, s.Protocol().WriterFeatures, "timestampNtz", "with the feature of its type")
	require.False(t, s.Mapped())

	wide := wideTable(t, nil)
	wide = mustAlter(t, wide, func(a *delta.Alteration) error {
		if err := a.AddColumn([]string{"ST"}, delta.Field{Name: "z", Type: delta.Date, Nullable: true}); err != nil {
			return err
		}
		return a.AddColumn([]string{"list", "element"}, delta.Field{Name: "z", Type: delta.Date, Nullable: true})
	})
	require.Equal(t, delta.Date, field(t, wide.Schema(), "st", "z").Type)
	require.Equal(t, delta.Date, field(t, wide.Schema(), "list", "element", "z").Type)
	require.JSONEq(t, `{"a":[1]}`, string(field(t, wide.Schema(), "id").Metadata["theirs"]))
	require.Equal(t, "kept", wide.Properties()["someone.else"])

	nullable := func(name string, t delta.DataType) delta.Field {
		return delta.Field{Name: name, Type: t, Nullable: true}
	}
	rows := map[string]struct {
		parent []string
		field  delta.Field
		want   error
	}{
		"taken, in another case": {nil, nullable("ID", delta.Long), delta.ErrInvalidSchema},
		"taken in a struct":      {[]string{"st"}, nullable("X", delta.Long), delta.ErrInvalidSchema},
		"NOT NULL":               {nil, delta.Field{Name: "c", Type: delta.Long}, delta.ErrInvalidSchema},
		"name of no file":        {nil, nullable("a b", delta.Long), delta.ErrInvalidSchema},
		"void":                   {nil, nullable("c", delta.Void), delta.ErrInvalidSchema},
		"into a number":          {[]string{"n"}, nullable("c", delta.Long), delta.ErrInvalidSchema},
		"into nothing":           {[]string{"none"}, nullable("c", delta.Long), delta.ErrInvalidSchema},
		"into a map":             {[]string{"m"}, nullable("c", delta.Long), delta.ErrInvalidSchema},
		"default": {nil, delta.Field{Name: "c", Type: delta.Long, Nullable: true,
			Metadata: map[string]json.RawMessage{"CURRENT_DEFAULT": json.RawMessage(`"1"`)}}, delta.ErrUnsupportedFeature},
		"generated": {nil, delta.Field{Name: "c", Type: delta.Long, Nullable: true,
			Metadata: map[string]json.RawMessage{"delta.generationExpression": json.RawMessage(`"1"`)}}, delta.ErrInvalidSchema},
	}
	for name, row := range rows {
		a := wide.Alter()
		require.ErrorIs(t, a.AddColumn(row.parent, row.field), row.want, name)
		c, err := a.Change()
		require.NoError(t, err)
		require.Equal(t, wide.Metadata(), c.Metadata, name)
	}
	feed := wideTable(t, map[string]string{"delta.enableChangeDataFeed": "true"})
	require.ErrorIs(t, feed.Alter().AddColumn(nil, nullable("_Change_Type", delta.Long)), delta.ErrInvalidSchema)
}

func names(s delta.Struct) []string {
	list := []string{}
	for _, f := range s.Fields {
		list = append(list, f.Name)
	}
	return list
}

func TestRenameEnablesMapping(t *testing.T) {
	s := wideTable(t, map[string]string{
		"delta.dataSkippingStatsColumns": "id,st.x, n", "delta.constraints.c": "n > 0 AND `other id` > 'id'",
	})
	require.ErrorIs(t, s.Alter().RenameColumn([]string{"n"}, "number"), delta.ErrInvalidSchema, "a constraint names it")
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		for _, r := range []struct {
			path []string
			name string
		}{{[]string{"ID"}, "the id, renamed"}, {[]string{"p"}, "part"}, {[]string{"st", "x"}, "X"}, {[]string{"list", "element", "y"}, "why"}} {
			if err := a.RenameColumn(r.path, r.name); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(t, []string{"the id, renamed", "part", "n", "st", "list", "m"}, names(s.Schema()))
	require.Equal(t, []string{"part"}, s.PartitionColumns())
	require.Equal(t, `["the id, renamed"]`, s.Properties()["lakewarden.primaryKey"])
	require.Equal(t, "`the id, renamed`,`st`.`X`,`n`", s.Properties()["delta.dataSkippingStatsColumns"])
	require.Equal(t, "name", s.Properties()["delta.columnMapping.mode"])
	require.Equal(t, "10", s.Properties()["delta.columnMapping.maxColumnId"])
	require.Equal(t, action.Protocol{
		MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"columnMapping"},
		WriterFeatures: []string{"appendOnly", "checkConstraints", "columnMapping", "invariants"},
	}, s.Protocol())
	require.Equal(t, "id", field(t, s.Schema(), "the id, renamed").PhysicalName())
	require.JSONEq(t, `{"a":[1]}`, string(field(t, s.Schema(), "the id, renamed").Metadata["theirs"]))
	require.Equal(t, "x", field(t, s.Schema(), "st", "X").PhysicalName())
	require.Equal(t, "y", field(t, s.Schema(), "list", "element", "why").PhysicalName())

	// A new column gets a physical name that no column ever had.
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		return a.AddColumn(nil, delta.Field{Name: "id", Type: someMembers, Nullable: true})
	})
	added := field(t, s.Schema(), "id")
	require.Equal(t, 11, columnID(t, added))
	require.True(t, strings.HasPrefix(added.PhysicalName(), "col-"), added.PhysicalName())
	require.Equal(t, 13, columnID(t, field(t, s.Schema(), "id", "y")))
	require.Equal(t, "13", s.Properties()["delta.columnMapping.maxColumnId"])

	s = mustAlter(t, s, func(a *delta.Alteration) error { return a.DropColumn([]string{"id"}) })
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		return a.AddColumn(nil, delta.Field{Name: "id", Type: delta.Long, Nullable: true})
	})
	require.Equal(t, 14, columnID(t, field(t, s.Schema(), "id")), "ids are not used twice")

	for name, to := range map[string]string{"none": "", "NUL": "a\x00b", "taken": "PART"} {
		require.ErrorIs(t, s.Alter().RenameColumn([]string{"st"}, to), delta.ErrInvalidSchema, name)
	}
	require.ErrorIs(t, s.Alter().RenameColumn([]string{"gone"}, "x"), delta.ErrInvalidSchema)
	require.ErrorIs(t, s.Alter().RenameColumn(nil, "x"), delta.ErrInvalidSchema)
	require.NoError(t, s.Alter().RenameColumn([]string{"st"}, "ST"), "another case of itself")
}

func TestDropColumn(t *testing.T) {
	s := wideTable(t, map[string]string{"delta.dataSkippingStatsColumns": "st", "delta.constraints.c": "upper(N) > 0"})
	for name, path := range map[string][]string{
		"partition": {"p"}, "key": {"Id"}, "constraint": {"n"}, "absent": {"none"}, "element": {"list", "element"},
	} {
		a := s.Alter()
		require.ErrorIs(t, a.DropColumn(path), delta.ErrInvalidSchema, name)
		require.Equal(t, s.Properties(), a.Properties(), name)
	}
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		for _, path := range [][]string{{"st"}, {"m"}, {"list", "element", "x"}} {
			if err := a.DropColumn(path); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(t, []string{"id", "p", "n", "list"}, names(s.Schema()))
	require.NotContains(t, s.Properties(), "delta.dataSkippingStatsColumns")
	require.Equal(t, "name", s.Properties()["delta.columnMapping.mode"])
	require.ErrorIs(t, s.Alter().DropColumn([]string{"list", "element", "y"}), delta.ErrInvalidSchema, "the last member")

	two := mustCreate(t, mem.New(), delta.CreateOptions{PartitionColumns: []string{"id"}})
	require.ErrorIs(t, two.Alter().DropColumn([]string{"s"}), delta.ErrInvalidSchema, "only partition columns would be left")
	clustered := mem.New()
	mustLog(t, clustered, `{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["clustering","domainMetadata"]}}`+"\n"+
		metaLine("a", strings.Replace(schemaText, "]}", `,{\"name\":\"b\",\"type\":\"long\"}]}`, 1), "", "")+"\n"+
		`{"domainMetadata":{"domain":"delta.clustering","configuration":"{\"clusteringColumns\":[[\"b\"]]}","removed":false}}`)
	c, err := delta.Load(t.Context(), clustered, testOptions(t))
	require.NoError(t, err)
	require.ErrorIs(t, c.Alter().DropColumn([]string{"b"}), delta.ErrInvalidSchema)
	require.NoError(t, c.Alter().DropColumn([]string{"id"}))
}

func TestCommentsAndNullability(t *testing.T) {
	s := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{}), 1)
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		a.Describe("all of them")
		if err := a.CommentColumn([]string{"S"}, `says "so"`); err != nil {
			return err
		}
		return a.SetNotNull([]string{"id"})
	})
	require.Equal(t, new("all of them"), s.Metadata().Description)
	require.Equal(t, `says "so"`, field(t, s.Schema(), "s").Comment())
	require.False(t, field(t, s.Schema(), "id").Nullable)
	require.True(t, s.WholeFiles(), "files are as they were")
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		if err := a.CommentColumn([]string{"s"}, ""); err != nil {
			return err
		}
		return a.DropNotNull([]string{"id"})
	})
	require.Equal(t, twoColumns.Fields[0].Nullable, field(t, s.Schema(), "id").Nullable)
	require.NotContains(t, field(t, s.Schema(), "s").Metadata, "comment")

	wide := wideTable(t, nil)
	require.NoError(t, wide.Alter().SetNotNull([]string{"st", "x"}))
	require.ErrorIs(t, wide.Alter().SetNotNull([]string{"list", "element", "x"}), delta.ErrInvalidSchema)
	require.ErrorIs(t, wide.Alter().SetNotNull([]string{"none"}), delta.ErrInvalidSchema)
}

func TestProperties(t *testing.T) {
	s := mustCreate(t, mem.New(), delta.CreateOptions{Properties: map[string]string{"own": "1", "delta.enableInCommitTimestamps": "true"}})
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		if err := a.SetProperties(map[string]string{"delta.enableDeletionVectors": "true", "other": "2",
			"delta.columnMapping.mode": "name"}); err != nil {
			return err
		}
		return a.UnsetProperties("own", "never set")
	})
	require.True(t, s.WritesVectors())
	require.True(t, s.Mapped())
	require.Equal(t, "s", field(t, s.Schema(), "s").PhysicalName())
	require.NotContains(t, s.Properties(), "own")
	require.Equal(t, "2", s.Properties()["other"])
	require.Subset(t, s.Protocol().ReaderFeatures, []string{"deletionVectors", "columnMapping"})

	for name, value := range map[string]string{
		"delta.novelty": "1", "delta.appendOnly": "maybe", "delta.constraints.c": "true", "delta.columnMapping.mode": "none",
		"delta.columnMapping.maxColumnId": "99", "delta.enableInCommitTimestamps": "false",
		"delta.inCommitTimestampEnablementVersion": "0",
	} {
		require.ErrorIs(t, s.Alter().SetProperties(map[string]string{name: value}), delta.ErrInvalidProperty, name)
	}
	require.ErrorIs(t, s.Alter().SetProperties(map[string]string{"delta.columnMapping.mode": "id"}), delta.ErrInvalidProperty)
	require.NoError(t, s.Alter().SetProperties(map[string]string{"delta.columnMapping.mode": "name"}), "what it is")
	require.ErrorIs(t, s.Alter().SetProperties(map[string]string{"delta.enableRowTracking": "true"}), delta.ErrUnsupportedFeature)
	named := mustAlter(t, s, func(a *delta.Alteration) error {
		return a.AddColumn(nil, delta.Field{Name: "_Change_type", Type: delta.String, Nullable: true})
	})
	require.ErrorIs(t, named.Alter().SetProperties(feedProperties), delta.ErrInvalidProperty)
	require.NoError(t, s.Alter().SetProperties(feedProperties))
	for _, name := range []string{"delta.columnMapping.mode", "delta.columnMapping.maxColumnId", "delta.enableInCommitTimestamps"} {
		require.ErrorIs(t, s.Alter().UnsetProperties(name), delta.ErrInvalidProperty, name)
	}
}

func TestConstraints(t *testing.T) {
	s := mustCreate(t, mem.New(), delta.CreateOptions{})
	s = mustAlter(t, s, func(a *delta.Alteration) error { return a.AddConstraint("Positive", "id > 0") })
	require.Equal(t, map[string]string{"positive": "id > 0"}, s.Constraints())
	require.Contains(t, s.Protocol().WriterFeatures, "checkConstraints")
	require.ErrorIs(t, s.Alter().AddConstraint("POSITIVE", "true"), delta.ErrInvalidProperty)
	require.ErrorIs(t, s.Alter().AddConstraint("", "true"), delta.ErrInvalidProperty)
	require.ErrorIs(t, s.Alter().AddConstraint("c", " "), delta.ErrInvalidProperty)

	// New rows must satisfy the constraint; other changes need not.
	add := s.Begin(delta.Operation{Name: "WRITE"})
	require.NoError(t, add.Add(mustWrite(t, s.Bucket(), 1)))
	_, err := add.Commit(t.Context())
	require.ErrorIs(t, err, delta.ErrUnsupportedFeature)
	s = mustAlter(t, s, func(a *delta.Alteration) error { return a.CommentColumn([]string{"id"}, "c") })
	checked := s.Begin(delta.Operation{Name: "WRITE", Duties: []delta.Duty{delta.EvaluatesChecks}})
	require.NoError(t, checked.Add(mustWrite(t, s.Bucket(), 1)))
	s, err = checked.Commit(t.Context())
	require.NoError(t, err)
	compaction := s.Begin(delta.Operation{Name: "OPTIMIZE"})
	require.NoError(t, compaction.Remove(true, onlyFile(t, s)))
	moved := mustWrite(t, s.Bucket(), 1)
	moved.Rearranged = true
	require.NoError(t, compaction.Add(moved))
	s, err = compaction.Commit(t.Context())
	require.NoError(t, err)

	s = mustAlter(t, s, func(a *delta.Alteration) error {
		require.True(t, a.DropConstraint("pOSITIVE"))
		require.False(t, a.DropConstraint("positive"))
		return nil
	})
	require.Empty(t, s.Constraints())
	mustAppend(t, s, -1)
}

// TestConstraintAgainstAppend checks that a constraint conflicts with a concurrent
// append, whichever commits first.
func TestConstraintAgainstAppend(t *testing.T) {
	for _, constraintFirst := range []bool{true, false} {
		s := mustCreate(t, mem.New(), delta.CreateOptions{})
		a := s.Alter()
		require.NoError(t, a.AddConstraint("c", "id > 0"))
		c, err := a.Change()
		require.NoError(t, err)
		constraint := s.Begin(delta.Operation{Name: "ADD CONSTRAINT"})
		constraint.ReadWholeTable()
		constraint.Alter(c)
		rows := s.Begin(delta.Operation{Name: "WRITE"})
		require.NoError(t, rows.Add(mustWrite(t, s.Bucket(), -1)))
		first, second, want := constraint, rows, delta.ErrProtocolChanged
		if !constraintFirst {
			first, second, want = rows, constraint, delta.ErrConcurrentAppend
		}
		_, err = first.Commit(t.Context())
		require.NoError(t, err)
		_, err = second.Commit(t.Context())
		require.ErrorIs(t, err, want)
	}
}

func TestAnnotate(t *testing.T) {
	s := mustAppend(t, mustCreate(t, mem.New(), delta.CreateOptions{Properties: map[string]string{"delta.appendOnly": "false"}}), 1)
	marked := delta.Struct{Fields: slices.Clone(s.Schema().Fields)}
	marked.Fields[0].Metadata = map[string]json.RawMessage{"lakewarden.primaryKey": json.RawMessage("true")}
	properties := map[string]string{"delta.appendOnly": "false", "lakewarden.primaryKey": `["id"]`}
	s = mustAlter(t, s, func(a *delta.Alteration) error { return a.Annotate(marked, properties) })
	require.Equal(t, properties, s.Properties())
	require.JSONEq(t, "true", string(field(t, s.Schema(), "id").Metadata["lakewarden.primaryKey"]))
	require.True(t, s.WholeFiles())

	edit := func(edit func(s delta.Struct, p map[string]string)) error {
		schema := delta.Struct{Fields: slices.Clone(s.Schema().Fields)}
		p := map[string]string{"delta.appendOnly": "false"}
		edit(schema, p)
		return s.Alter().Annotate(schema, p)
	}
	require.NoError(t, edit(func(delta.Struct, map[string]string) {}))
	for name, change := range map[string]func(delta.Struct){
		"name":     func(s delta.Struct) { s.Fields[0].Name = "other" },
		"type":     func(s delta.Struct) { s.Fields[0].Type = delta.Integer },
		"not null": func(s delta.Struct) { s.Fields[0].Nullable = false },
		"delta": func(s delta.Struct) {
			s.Fields[0].Metadata = map[string]json.RawMessage{"delta.columnMapping.id": json.RawMessage("1")}
		},
		"comment": func(s delta.Struct) {
			s.Fields[0].Metadata = map[string]json.RawMessage{"comment": json.RawMessage(`"x"`)}
		},
	} {
		require.ErrorIs(t, edit(func(s delta.Struct, _ map[string]string) { change(s) }), delta.ErrInvalidSchema, name)
	}
	require.ErrorIs(t, edit(func(_ delta.Struct, p map[string]string) { p["delta.appendOnly"] = "true" }), delta.ErrInvalidProperty)
	require.ErrorIs(t, edit(func(_ delta.Struct, p map[string]string) { delete(p, "delta.appendOnly") }), delta.ErrInvalidProperty)
}

func TestCanWiden(t *testing.T) {
	dec := func(p, s int) delta.Decimal { return delta.Decimal{Precision: p, Scale: s} }
	yes := [][2]delta.DataType{
		{delta.Byte, delta.Short}, {delta.Byte, delta.Integer}, {delta.Byte, delta.Long}, {delta.Byte, delta.Double},
		{delta.Short, delta.Integer}, {delta.Short, delta.Long}, {delta.Short, delta.Double},
		{delta.Integer, delta.Long}, {delta.Integer, delta.Double}, {delta.Float, delta.Double}, {delta.Date, delta.TimestampNTZ},
		{delta.Byte, dec(10, 0)}, {delta.Short, dec(12, 2)}, {delta.Integer, dec(38, 28)}, {delta.Long, dec(20, 0)}, {delta.Long, dec(22, 2)},
		{dec(5, 2), dec(6, 2)}, {dec(5, 2), dec(6, 3)}, {dec(5, 2), dec(38, 35)},
	}
	for _, p := range yes {
		require.True(t, delta.CanWiden(p[0], p[1]), "%s to %s", p[0], p[1])
		require.False(t, delta.CanWiden(p[1], p[0]), "%s to %s", p[1], p[0])
		require.False(t, delta.CanWiden(p[0], p[0]))
	}
	no := [][2]delta.DataType{
		{delta.Long, delta.Double}, {delta.Integer, delta.Float}, {delta.Date, delta.Timestamp}, {delta.Integer, delta.String},
		{delta.Byte, dec(9, 0)}, {delta.Integer, dec(10, 1)}, {delta.Long, dec(19, 0)}, {delta.Boolean, delta.Byte},
		{dec(5, 2), dec(5, 3)}, {dec(5, 2), dec(6, 4)}, {dec(5, 2), dec(7, 1)}, {delta.Timestamp, delta.TimestampNTZ},
		{delta.Array{Element: delta.Byte}, delta.Array{Element: delta.Short}}, {delta.Float, dec(38, 0)},
	}
	for _, p := range no {
		require.False(t, delta.CanWiden(p[0], p[1]), "%s to %s", p[0], p[1])
	}
}

func TestWidenColumn(t *testing.T) {
	s := wideTable(t, nil)
	s = mustAlter(t, s, func(a *delta.Alteration) error { return a.WidenColumn([]string{"N"}, delta.Long) })
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		for _, c := range []struct {
			path []string
			to   delta.DataType
		}{{[]string{"n"}, delta.Decimal{Precision: 20}}, {[]string{"m", "value"}, delta.Integer},
			{[]string{"list", "element", "x"}, delta.Long}} {
			if err := a.WidenColumn(c.path, c.to); err != nil {
				return err
			}
		}
		return nil
	})
	require.JSONEq(t, `[{"fromType":"integer","toType":"long"},{"fromType":"long","toType":"decimal(20,0)"}]`,
		string(field(t, s.Schema(), "n").Metadata["delta.typeChanges"]))
	require.JSONEq(t, `[{"fromType":"short","toType":"integer","fieldPath":"value"}]`,
		string(field(t, s.Schema(), "m").Metadata["delta.typeChanges"]))
	require.JSONEq(t, `[{"fromType":"integer","toType":"long"}]`,
		string(field(t, s.Schema(), "list", "element", "x").Metadata["delta.typeChanges"]))
	require.Contains(t, s.Protocol().ReaderFeatures, "typeWidening")
	require.Equal(t, "true", s.Properties()["delta.enableTypeWidening"])
	require.True(t, s.Widened())
	require.False(t, s.Mapped())

	for name, row := range map[string]struct {
		path []string
		to   delta.DataType
	}{"narrower": {[]string{"n"}, delta.Integer}, "other": {[]string{"p"}, delta.Long}, "struct": {[]string{"st"}, delta.Long},
		"absent": {[]string{"q"}, delta.Long}, "nothing": {nil, delta.Long}} {
		require.ErrorIs(t, s.Alter().WidenColumn(row.path, row.to), delta.ErrInvalidSchema, name)
	}
	bound := wideTable(t, map[string]string{"delta.constraints.c": "m['a'] > 0"})
	require.ErrorIs(t, bound.Alter().WidenColumn([]string{"m", "value"}, delta.Integer), delta.ErrInvalidSchema)
	off := wideTable(t, map[string]string{"delta.enableTypeWidening": "false"})
	require.ErrorIs(t, off.Alter().WidenColumn([]string{"n"}, delta.Long), delta.ErrUnsupportedFeature)

	byNumber := mustCreate(t, mem.New(), delta.CreateOptions{PartitionColumns: []string{"id"}, Schema: delta.Struct{Fields: []delta.Field{
		{Name: "id", Type: delta.Integer, Nullable: true}, {Name: "d", Type: delta.Date, Nullable: true},
	}}})
	require.NoError(t, byNumber.Alter().WidenColumn([]string{"id"}, delta.Long))
	require.ErrorIs(t, byNumber.Alter().WidenColumn([]string{"id"}, delta.Double), delta.ErrInvalidSchema)
	require.NoError(t, byNumber.Alter().WidenColumn([]string{"d"}, delta.TimestampNTZ))
}

func TestMentions(t *testing.T) {
	for _, expr := range []string{"a > 0", "1 < A", "f(`a`)", "x.a IS NULL", `"a" = 1`, "b + a", "'it''s' = a", `'\'' = a`} {
		s := mustCreate(t, mem.New(), delta.CreateOptions{Schema: aAndB, Properties: map[string]string{"delta.constraints.c": expr}})
		require.ErrorIs(t, s.Alter().RenameColumn([]string{"a"}, "z"), delta.ErrInvalidSchema, expr)
	}
	for _, expr := range []string{"b > 0", "'a' = b", "aa > 1", "b = 'x a'", "`a``b` = 1", "1a > 0", "_a = 1"} {
		s := mustCreate(t, mem.New(), delta.CreateOptions{Schema: aAndB, Properties: map[string]string{"delta.constraints.c": expr}})
		require.NoError(t, s.Alter().RenameColumn([]string{"a"}, "z"), expr)
	}
	for key, text := range map[string]string{
		"delta.invariants": `{"expression":{"expression":"a > 3"}}`, "delta.generationExpression": "a + 1",
	} {
		quotedText, err := json.Marshal(text)
		require.NoError(t, err)
		schema := delta.Struct{Fields: slices.Clone(aAndB.Fields)}
		schema.Fields[1].Metadata = map[string]json.RawMessage{key: quotedText}
		s := mustCreate(t, mem.New(), delta.CreateOptions{Schema: schema})
		require.ErrorIs(t, s.Alter().DropColumn([]string{"a"}), delta.ErrInvalidSchema, key)
	}
}

var aAndB = delta.Struct{Fields: []delta.Field{
	{Name: "a", Type: delta.Long, Nullable: true}, {Name: "b", Type: delta.Long, Nullable: true},
	{Name: "c", Type: delta.Long, Nullable: true},
}}

// TestDeltaRsFollowsAlterations checks that delta-rs reads altered tables, enforces
// their constraints and appends to them.
func TestDeltaRsFollowsAlterations(t *testing.T) {
	t.Parallel()
	oracletest.Python(t)
	b, dir := fileBucket(t)
	s := mustAppend(t, mustCreate(t, b, delta.CreateOptions{Properties: map[string]string{"own": "kept"}}), 1, 2)
	s = mustAlter(t, s, func(a *delta.Alteration) error {
		a.Describe("the table")
		for _, err := range []error{
			a.AddColumn(nil, delta.Field{Name: "st", Type: someMembers, Nullable: true,
				Metadata: map[string]json.RawMessage{"comment": json.RawMessage(`"c"`)}}),
			a.AddConstraint("Positive", "id > 0"), a.SetNotNull([]string{"id"}), a.CommentColumn([]string{"id"}, "the id"),
			a.SetProperties(map[string]string{"delta.checkpointInterval": "3", "delta.enableDeletionVectors": "true"}),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	type seen struct {
		IDs         []int64
		Comments    []string
		Description string
		Nullable    []bool
		Own         string
		Refused     []bool
	}
	got := runPython[seen](t, dir, `
def refused(id):
    try:
        write_deltalake(path, pa.table({"id": pa.array([id], pa.int64()), "s": ["x"], "st": pa.array([None], pa.struct([("x", pa.int32()), ("y", pa.string())]))}), mode="append")
        return False
    except Exception:
        return True
bad = [refused(-1), refused(None), refused(3)]
t = DeltaTable(path)
fields = t.schema().fields
rows = pa.table(QueryBuilder().register("t", t).execute("select id, st from t order by id").read_all()).to_pylist()
assert all(r["st"] is None for r in rows), rows
say({"IDs": [r["id"] for r in rows], "Comments": [f.metadata.get("comment", "") for f in fields], "Description": t.metadata().description,
     "Nullable": [f.nullable for f in fields], "Own": t.metadata().configuration["own"], "Refused": bad})`)
	require.Equal(t, seen{
		IDs: []int64{1, 2, 3}, Comments: []string{"the id", "", "c"}, Description: "the table",
		Nullable: []bool{false, true, true}, Own: "kept", Refused: []bool{true, true, false},
	}, got)
	s, err := s.Refresh(t.Context())
	require.NoError(t, err)
	rows, ok := s.Rows()
	require.True(t, ok)
	require.EqualValues(t, 3, rows)
	require.Equal(t, map[string]string{"positive": "id > 0"}, s.Constraints())

	s = mustAlter(t, s, func(a *delta.Alteration) error {
		a.DropConstraint("positive")
		return a.DropNotNull([]string{"id"})
	})
	mustAppend(t, s, -5)
	require.Equal(t, []int64{-5, 1, 2, 3},
		runPython[[]int64](t, dir, `say(sorted(pa.table(QueryBuilder().register("t", DeltaTable(path)).execute("select id from `+
			`t").read_all()).column("id").to_pylist()))`))
}
