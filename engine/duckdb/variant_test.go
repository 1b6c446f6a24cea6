package duckdb_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/apache/arrow-go/v18/parquet/variant"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/enginetest"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/pruning"
)

// variantForm is a form of variants in files.
type variantForm struct {
	name string
	// typ is the annotated type; nil means a group that the file does not mark as a variant.
	typ *extensions.VariantType
}

func variantForms() []variantForm {
	return []variantForm{
		{"annotated", extensions.NewDefaultVariantType()},
		{"shredded", extensions.NewShreddedVariantType(arrow.StructOf(
			arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
			arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}))},
		{"unmarked", nil},
	}
}

// variantDocuments holds values of the column v with the texts that statements see.
var variantDocuments = []struct{ id, document, want string }{
	{"1", `{"a":1,"b":null,"c":[1,null,{"a":"x"}],"d e":1.5}`, `{"a":1,"b":null,"c":[1,null,{"a":"x"}],"d e":1.5}`},
	{"2", `{"a":"no number","b":"text"}`, `{"a":"no number","b":"text"}`},
	{"3", `{"metadata":"AQAA","value":"AA=="}`, `{"metadata":"AQAA","value":"AA=="}`},
	{"4", `0.00001`, `0.00001`},
	{"5", `null`, ``},
	{"6", ``, ``}, // NULL
	{"7", `"a\"b\\ü"`, `"a\"b\\ü"`},
	{"8", `[]`, `[]`},
}

// column builds the values of the documents in a form.
func (f variantForm) column(t *testing.T) arrow.Array {
	values := make([]*variant.Value, len(variantDocuments))
	for i, d := range variantDocuments {
		if d.document != "" {
			v, err := variant.ParseJSON(d.document, false)
			require.NoError(t, err)
			values[i] = &v
		}
	}
	if f.typ != nil {
		b := f.typ.NewBuilder(memory.DefaultAllocator).(*extensions.VariantBuilder)
		for _, v := range values {
			if v == nil {
				b.AppendNull()
			} else {
				b.Append(*v)
			}
		}
		return b.NewArray()
	}
	b := array.NewStructBuilder(memory.DefaultAllocator, arrow.StructOf(
		arrow.Field{Name: "value", Type: arrow.BinaryTypes.Binary}, arrow.Field{Name: "metadata", Type: arrow.BinaryTypes.Binary}))
	for _, v := range values {
		if v == nil {
			b.AppendNull()
			continue
		}
		b.Append(true)
		b.FieldBuilder(0).(*array.BinaryBuilder).Append(v.Bytes())
		b.FieldBuilder(1).(*array.BinaryBuilder).Append(v.Metadata().Bytes())
	}
	return b.NewArray()
}

// write makes a file with id, v and the struct s of v.
func (f variantForm) write(t *testing.T, name string) int64 {
	v := f.column(t)
	inner := arrow.Field{Name: "v", Type: v.DataType(), Nullable: true}
	s, err := array.NewStructArrayWithFields([]arrow.Array{v}, []arrow.Field{inner})
	require.NoError(t, err)
	ids := array.NewStringBuilder(memory.DefaultAllocator)
	for _, d := range variantDocuments {
		ids.Append(d.id)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.BinaryTypes.String, Nullable: true}, inner,
		{Name: "s", Type: s.DataType(), Nullable: true}}, nil)
	var body bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &body, nil, pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	require.NoError(t, w.Write(array.NewRecordBatch(schema, []arrow.Array{ids.NewArray(), v, s}, int64(v.Len()))))
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(name, body.Bytes(), 0o600))
	return int64(body.Len())
}

// TestVariantsAreJSONText reads variants in every form of files, each alone and all in one
// table.
func TestVariantsAreJSONText(t *testing.T) {
	root := t.TempDir()
	session, err := newEngine(t).Open(t.Context(), engine.SessionOptions{Roots: []string{root}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	all := variantForms()
	tables := map[string][]variantForm{"every form": all, "the other way round": {all[2], all[1], all[0]}}
	for _, f := range all {
		tables[f.name] = []variantForm{f}
	}
	for name, forms := range tables {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, strings.ReplaceAll(name, " ", "-"))
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "_delta_log"), 0o755))
			features := `["variantType"]`
			schema := `{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"string\",\"nullable\":true,\"metadata\":{}},` +
				`{\"name\":\"v\",\"type\":\"variant\",\"nullable\":true,\"metadata\":{}},` +
				`{\"name\":\"s\",\"type\":{\"type\":\"struct\",\"fields\":[{\"name\":\"v\",\"type\":\"variant\",\"nullable\":true,` +
				`\"metadata\":{}}]},\"nullable\":true,\"metadata\":{}}]}`
			log := `{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":` + features + `,"writerFeatures":` +
				features + `}}` + "\n" +
				`{"metaData":{"id":"v","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{},` +
				`"schemaString":"` + schema + `"}}` + "\n"
			var want []string
			for i, f := range forms {
				path := fmt.Sprintf("%d-%s.parquet", i, f.name)
				bytes := f.write(t, filepath.Join(dir, path))
				// A JSON null is not NULL in the file.
				log += fmt.Sprintf(`{"add":{"path":%q,"partitionValues":{},"size":%d,"modificationTime":1,"dataChange":true,`+
					`"stats":"{\"numRecords\":8,\"nullCount\":{\"id\":0,\"v\":1}}"}}`+"\n", path, bytes)
				for _, d := range variantDocuments {
					text := d.want
					if text == "" {
						text = array.NullValueStr
					}
					want = append(want, d.id+"|"+text+"|"+text)
				}
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "_delta_log", "00000000000000000000.json"), []byte(log), 0o600))
			bucket, err := file.New(dir)
			require.NoError(t, err)
			snap, err := delta.Load(t.Context(), bucket, delta.Options{})
			require.NoError(t, err)
			require.NoError(t, pruning.Check(snap))
			var columns []engine.Column
			for _, f := range snap.Schema().Fields {
				columns = append(columns, engine.Column{Name: f.Name, Type: deltasql.Type(f.Type), Nullable: true})
			}
			ask := func(condition engine.Condition, sql string) []string {
				list, ok := pruning.List(snap, columns, condition)
				require.True(t, ok)
				src := engine.Source{Location: dir, Version: snap.Version(), Identity: name, Files: list}
				return enginetest.Rows(t, session, engine.Statement{SQL: "WITH t AS (FROM " + src.Relation() + ") " + sql,
					Sources: []engine.Source{src}})
			}
			everything := engine.Condition{}
			require.Equal(t, want, ask(everything, "SELECT id, v, s.v FROM t"))
			require.Equal(t, []string{"VARCHAR|STRUCT(v VARCHAR)"}, ask(everything, "SELECT typeof(v), typeof(s) FROM t LIMIT 1"))
			require.Equal(t, []string{"0|" + fmt.Sprint(8*len(forms))},
				ask(everything, "SELECT count(*) FILTER (NOT json_valid(v)), count(*) FROM t"))
			require.Equal(t, []string{fmt.Sprint(len(forms))}, ask(everything, "SELECT count(*) FROM t WHERE v->>'$.c[2].a' = 'x'"))
			isNull := engine.Condition{Op: engine.ConditionIsNull, Column: "v"}
			require.Equal(t, []string{fmt.Sprint(2 * len(forms))}, ask(isNull, "SELECT count(*) FROM t WHERE v IS NULL"))
		})
	}
}
