package interop

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
)

// section is one file of a table in its text form.
type section struct{ name, text string }

// sections splits the text of a table at lines of the form "-- NAME --".
func sections(text string) []section {
	var all []section
	for line := range strings.Lines(text) {
		name, isName := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		name, isName2 := strings.CutSuffix(name, " --")
		switch {
		case isName && isName2:
			all = append(all, section{name: name})
		case len(all) > 0:
			all[len(all)-1].text += line
		}
	}
	return all
}

// writeTable writes the table of a text form below folder. It makes Parquet files from
// lines of JSON and deletion vectors from hexadecimal digits, and copies all other files
// unchanged. A size of 0 in an action is replaced by the file's actual size.
func writeTable(t *testing.T, folder, text string) {
	t.Helper()
	all := sections(text)
	// Files that actions name are written before the actions.
	slices.SortStableFunc(all, func(a, b section) int { return rank(a.name) - rank(b.name) })
	sizes := map[string]int{}
	for _, s := range all {
		content := []byte(strings.ReplaceAll(s.text, "{table}", filepath.ToSlash(folder)))
		if strings.HasPrefix(s.name, "_delta_log/") {
			content = withSizes(content, sizes)
		}
		switch {
		case strings.HasSuffix(s.name, ".parquet") && bytes.HasPrefix(content, []byte("{")):
			content = parquetOf(t, s.name, content)
		case strings.HasSuffix(s.name, ".bin"):
			decoded, err := hex.DecodeString(strings.Join(strings.Fields(s.text), ""))
			require.NoError(t, err, s.name)
			content = decoded
		}
		sizes[strings.TrimPrefix(s.name, "_delta_log/_sidecars/")] = len(content)
		path := filepath.Join(folder, filepath.FromSlash(s.name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, content, 0o644))
		if at := commitTime(content); at != 0 {
			require.NoError(t, os.Chtimes(path, time.UnixMilli(at), time.UnixMilli(at)))
		}
	}
}

// commitTime returns the timestamp of a commitInfo, which the file gets as its
// modification time, or 0.
func commitTime(content []byte) int64 {
	line, _, _ := bytes.Cut(content, []byte("\n"))
	var first struct{ CommitInfo struct{ Timestamp int64 } }
	_ = json.Unmarshal(line, &first) // other files have no commitInfo
	return first.CommitInfo.Timestamp
}

func rank(name string) int {
	switch {
	case !strings.HasPrefix(name, "_delta_log/"):
		return 0
	case strings.HasPrefix(name, "_delta_log/_sidecars/"):
		return 1
	}
	return 2
}

// withSizes replaces sizes of 0 by the actual ones.
func withSizes(actions []byte, sizes map[string]int) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(actions) {
		var a map[string]struct{ Path string }
		_ = json.Unmarshal(line, &a) // lines of damaged logs may be invalid
		for _, member := range a {
			name, err := url.PathUnescape(member.Path)
			size, known := sizes[name]
			if !known {
				size, known = sizes[filepath.Base(name)]
			}
			if err == nil && known {
				for _, key := range []string{`"size":`, `"sizeInBytes":`} {
					line = bytes.Replace(line, []byte(key+"0,"), []byte(key+strconv.Itoa(size)+","), 1)
				}
			}
		}
		out.Write(line)
	}
	return out.Bytes()
}

// checkpointSchema is the schema of classic checkpoints and of the Parquet files of V2
// checkpoints.
const checkpointSchema = `{"type":"struct","fields":[
{"name":"txn","type":{"type":"struct","fields":[{"name":"appId","type":"string"},{"name":"version","type":"long"},
  {"name":"lastUpdated","type":"long"}]}},
{"name":"add","type":{"type":"struct","fields":[{"name":"path","type":"string"},
  {"name":"partitionValues","type":{"type":"map","keyType":"string","valueType":"string"}},
 {"name":"size","type":"long"},{"name":"modificationTime","type":"long"},{"name":"dataChange","type":"boolean"},
  {"name":"stats","type":"string"},
 {"name":"deletionVector","type":{"type":"struct","fields":[{"name":"storageType","type":"string"},
  {"name":"pathOrInlineDv","type":"string"},{"name":"offset","type":"integer"},{"name":"sizeInBytes","type":"integer"},
  {"name":"cardinality","type":"long"}]}},
 {"name":"baseRowId","type":"long"},{"name":"defaultRowCommitVersion","type":"long"}]}},
{"name":"remove","type":{"type":"struct","fields":[{"name":"path","type":"string"},{"name":"deletionTimestamp","type":"long"},
  {"name":"dataChange","type":"boolean"}]}},
{"name":"metaData","type":{"type":"struct","fields":[{"name":"id","type":"string"},{"name":"name","type":"string"},
  {"name":"description","type":"string"},
 {"name":"format","type":{"type":"struct","fields":[{"name":"provider","type":"string"},
  {"name":"options","type":{"type":"map","keyType":"string","valueType":"string"}}]}},
 {"name":"schemaString","type":"string"},{"name":"partitionColumns","type":{"type":"array","elementType":"string"}},
 {"name":"configuration","type":{"type":"map","keyType":"string","valueType":"string"}},{"name":"createdTime","type":"long"}]}},
{"name":"protocol","type":{"type":"struct","fields":[{"name":"minReaderVersion","type":"integer"},
  {"name":"minWriterVersion","type":"integer"},
 {"name":"readerFeatures","type":{"type":"array","elementType":"string"}},
  {"name":"writerFeatures","type":{"type":"array","elementType":"string"}}]}},
{"name":"domainMetadata","type":{"type":"struct","fields":[{"name":"domain","type":"string"},
  {"name":"configuration","type":"string"},{"name":"removed","type":"boolean"}]}},
{"name":"sidecar","type":{"type":"struct","fields":[{"name":"path","type":"string"},{"name":"sizeInBytes","type":"long"},
  {"name":"modificationTime","type":"long"}]}},
{"name":"checkpointMetadata","type":{"type":"struct","fields":[{"name":"version","type":"long"}]}}]}`

// parquetOf writes a file from lines of JSON: the schema, in the form of the log's
// schemaString, and the rows. A variant column is a struct, or of the type "variant" if
// the file marks it as one. Files of checkpoints have actions only.
func parquetOf(t *testing.T, name string, text []byte) []byte {
	t.Helper()
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	if strings.HasPrefix(name, "_delta_log/") {
		head, rest = []byte(checkpointSchema), text
	}
	var typ any
	require.NoError(t, json.Unmarshal(head, &typ), "%s: %s", name, head)
	top, isStruct := arrowType(t, typ).(*arrow.StructType)
	require.True(t, isStruct, name)
	rows := []any{}
	for line := range bytes.Lines(rest) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		var row any
		require.NoError(t, d.Decode(&row), "%s: %s", name, line)
		rows = append(rows, withPairs(row, top))
	}
	list, err := json.Marshal(rows)
	require.NoError(t, err)
	schema := arrow.NewSchema(top.Fields(), nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader(list))
	require.NoError(t, err, name)
	schema, batch = withVariants(t, typ, batch)
	var out bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &out, nil, pqarrow.NewArrowWriterProperties(pqarrow.WithDeprecatedInt96Timestamps(true)))
	require.NoError(t, err, name)
	if len(rows) > 0 {
		require.NoError(t, w.Write(batch), name)
	}
	require.NoError(t, w.Close(), name)
	return out.Bytes()
}

// withVariants marks the columns as variants whose type is "variant" instead of "struct".
func withVariants(t *testing.T, typ any, batch arrow.RecordBatch) (*arrow.Schema, arrow.RecordBatch) {
	t.Helper()
	fields, columns := batch.Schema().Fields(), batch.Columns()
	for i, f := range typ.(map[string]any)["fields"].([]any) {
		if members, nested := f.(map[string]any)["type"].(map[string]any); nested && members["type"] == "variant" {
			marked, err := extensions.NewVariantType(fields[i].Type)
			require.NoError(t, err)
			fields[i].Type = marked
			columns[i] = array.NewExtensionArrayWithStorage(marked, columns[i])
		}
	}
	schema := arrow.NewSchema(fields, nil)
	return schema, array.NewRecordBatch(schema, columns, batch.NumRows())
}

// withPairs turns the objects of maps into the lists of pairs that Arrow reads.
func withPairs(v any, t arrow.DataType) any {
	switch t := t.(type) {
	case *arrow.StructType:
		members, isObject := v.(map[string]any)
		for i := range t.NumFields() {
			if f := t.Field(i); isObject && members[f.Name] != nil {
				members[f.Name] = withPairs(members[f.Name], f.Type)
			}
		}
	case *arrow.MapType:
		members, isObject := v.(map[string]any)
		if !isObject {
			return v
		}
		pairs := []any{}
		for key, item := range members {
			pairs = append(pairs, map[string]any{"key": key, "value": withPairs(item, t.ItemType())})
		}
		slices.SortFunc(pairs, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return pairs
	case *arrow.ListType:
		items, _ := v.([]any)
		for i := range items {
			items[i] = withPairs(items[i], t.Elem())
		}
	}
	return v
}

var arrowTypes = map[string]arrow.DataType{
	"boolean": arrow.FixedWidthTypes.Boolean, "byte": arrow.PrimitiveTypes.Int8, "short": arrow.PrimitiveTypes.Int16,
	"integer": arrow.PrimitiveTypes.Int32, "long": arrow.PrimitiveTypes.Int64, "float": arrow.PrimitiveTypes.Float32,
	"double": arrow.PrimitiveTypes.Float64, "string": arrow.BinaryTypes.String, "binary": arrow.BinaryTypes.Binary,
	"date": arrow.FixedWidthTypes.Date32, "timestamp": arrow.FixedWidthTypes.Timestamp_us,
	"timestamp_ntz": &arrow.TimestampType{Unit: arrow.Microsecond},
	// No schema of a log has this type. Old writers store timestamps as INT96.
	"int96": arrow.FixedWidthTypes.Timestamp_ns,
}

// arrowType returns the type that a decoded type of a schemaString names.
func arrowType(t *testing.T, typ any) arrow.DataType {
	t.Helper()
	if name, isName := typ.(string); isName {
		if found, known := arrowTypes[name]; known {
			return found
		}
		var precision, scale int32
		_, err := fmt.Sscanf(name, "decimal(%d,%d)", &precision, &scale)
		require.NoError(t, err, "type %s", name)
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}
	}
	members := typ.(map[string]any)
	switch members["type"] {
	case "array":
		return arrow.ListOfField(arrow.Field{Name: "element", Type: arrowType(t, members["elementType"]), Nullable: true})
	case "map":
		return arrow.MapOf(arrowType(t, members["keyType"]), arrowType(t, members["valueType"]))
	}
	var fields []arrow.Field
	for _, f := range members["fields"].([]any) {
		f := f.(map[string]any)
		required, _ := f["nullable"].(bool)
		_, stated := f["nullable"]
		field := arrow.Field{Name: f["name"].(string), Type: arrowType(t, f["type"]), Nullable: required || !stated}
		if metadata, _ := f["metadata"].(map[string]any); metadata["parquet.field.id"] != nil {
			field.Metadata = arrow.MetadataFrom(map[string]string{"PARQUET:field_id": fmt.Sprint(metadata["parquet.field.id"])})
		}
		fields = append(fields, field)
	}
	return arrow.StructOf(fields...)
}
