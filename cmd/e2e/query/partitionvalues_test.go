package query_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
	"github.com/lakewarden/lakewarden/engine"
)

// foreignPartitions writes a table as another engine would, partitioned by the column p of
// type typ, with a file of two rows for each text of a partition value. Row n of value i
// has the id 2i+n.
func foreignPartitions(s *harness.Server, name, typ string, properties map[string]string, texts ...string) {
	s.T.Helper()
	t, dir := s.T, filepath.Join(s.Root, name)
	line := func(v any) string {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		return string(b)
	}
	column := func(name, typ string) object {
		return object{"name": name, "type": typ, "nullable": true, "metadata": object{}}
	}
	protocol := object{"minReaderVersion": 1, "minWriterVersion": 4}
	if typ == "timestamp_ntz" {
		protocol = object{"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": list{"timestampNtz"},
			"writerFeatures": list{"timestampNtz", "changeDataFeed"}}
	}
	lines := []string{
		line(object{"protocol": protocol}),
		line(object{"metaData": object{
			"id": "id-" + name, "format": object{"provider": "parquet", "options": object{}}, "partitionColumns": list{"p"},
			"configuration": properties,
			"schemaString":  line(object{"type": "struct", "fields": list{column("id", "long"), column("name", "string"), column("p", typ)}}),
		}}),
	}
	for i, text := range texts {
		files := harness.WriteFiles(t, dir, fmt.Sprintf("SELECT %d + j AS id, 'n' || j AS name FROM range(2) r(j)", 2*i), engine.FileLayout{})
		file := fmt.Sprintf("f%d.parquet", i)
		require.NoError(t, os.Rename(filepath.Join(dir, files[0].Name), filepath.Join(dir, file)))
		lines = append(lines, line(object{"add": object{"path": file, "partitionValues": object{"p": text}, "size": files[0].Bytes,
			"modificationTime": 1, "dataChange": true}}))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "_delta_log"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.FirstCommit), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

// partitionedBy holds tables by the type of their partition column. The expected texts are
// those that DuckDB prints for the values that Spark reads.
var partitionedBy = map[string]struct{ texts, want []string }{
	"double": {[]string{"1.5", "NaN", "Infinity", "-0.0", "1.0E10"}, []string{"1.5", "nan", "inf", "-0.0", "10000000000.0"}},
	"float":  {[]string{"0.1", "-Infinity", "3.4028235E38"}, []string{"0.1", "-inf", "3.4028235e+38"}},
	"binary": {[]string{"abc", "\x01\x00", "ÿ"}, []string{"abc", `\x01\x00`, `\xC3\xBF`}},
	"timestamp": {[]string{"0001-01-01 00:00:00", "+12345-06-07T01:02:03.500000Z", "2024-01-02T03:04:05+02:00"},
		[]string{"0001-01-01 00:00:00+00", "12345-06-07 01:02:03.5+00", "2024-01-02 01:04:05+00"}},
	"timestamp_ntz": {[]string{"9999-12-31 23:59:59.999999", "+12345-06-07 01:02:03"},
		[]string{"9999-12-31 23:59:59.999999", "12345-06-07 01:02:03"}},
	"date":          {[]string{"+12345-06-07", "0001-01-01"}, []string{"12345-06-07", "0001-01-01"}},
	"decimal(10,2)": {[]string{"5", "1E+2"}, []string{"5.00", "100.00"}},
}

// TestTablesPartitionedByAnyType reads, filters, changes, restores and rewrites tables and
// renames their columns, and checks that each partition value stays the one that Spark
// reads.
func TestTablesPartitionedByAnyType(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	names := map[string]string{}
	for typ, c := range partitionedBy {
		names[typ] = "by_" + strings.Trim(strings.NewReplacer("(", "_", ",", "_", ")", "").Replace(typ), "_")
		foreignPartitions(s, names[typ], typ, map[string]string{"delta.enableChangeDataFeed": "true"}, c.texts...)
	}
	s.Discover()
	for typ, c := range partitionedBy {
		t.Run(typ, func(t *testing.T) {
			s := *s
			admin := *s.Admin
			s.T, admin.T, s.Admin = t, t, &admin
			from, path := " FROM "+s.Schema+"."+names[typ], s.TablePath(names[typ])
			column := "p"
			var all list
			for i, want := range c.want {
				all = append(all, list{float64(2 * i), want}, list{float64(2*i + 1), want})
			}
			read := func() list { return s.Admin.Rows("SELECT id, " + column + "::VARCHAR" + from + " ORDER BY id") }
			check := func() {
				t.Helper()
				require.Equal(t, all, read())
				for i, want := range c.want {
					value := "'" + want + "'"
					if typ == "binary" {
						value = "'" + want + "'::BLOB"
					}
					require.Contains(t, s.Admin.Rows("SELECT id"+from+" WHERE "+column+" = "+value+" AND id < 100"), any(list{float64(2 * i)}), want)
				}
			}
			check()
			s.Admin.OK("PATCH", path+"/columns/p", object{"name": "q"})
			column = "q"
			check()

			// A row of each partition is updated, one is deleted, and one is inserted.
			_, updated, _ := s.Admin.Write(path+"/rows/update", object{"where": "id = 0", "set": object{"name": "'changed'"}})
			require.Equal(t, 1.0, updated)
			check()
			require.Equal(t, list{list{"changed"}}, s.Admin.Rows("SELECT name"+from+" WHERE id = 0"))
			before := s.Admin.Version(path)
			_, _, deleted := s.Admin.Write(path+"/rows/delete", object{"where": "id = 1"})
			require.Equal(t, 1.0, deleted)
			all = slices.Delete(all, 1, 2)
			check()
			s.Admin.OK("POST", path+"/restore", object{"version": before})
			all = slices.Insert(all, 1, any(list{1.0, c.want[0]}))
			check()
			for i := range c.want {
				id := 1000 + i
				_, updated, _ = s.Admin.Write(path+"/rows/update", object{"where": fmt.Sprintf("id = %d", 2*i), "set": object{"id": fmt.Sprint(id)}})
				require.Equal(t, 1.0, updated)
				s.Admin.Write(path+"/rows/update", object{"where": fmt.Sprintf("id = %d", id), "set": object{"id": fmt.Sprint(2 * i)}})
			}
			check()
			// A row moves to a partition that the table does not have yet, and back.
			there := movedTo[typ]
			s.Admin.Write(path+"/rows/update", object{"where": "id = 1", "set": object{"q": there.sql}})
			require.Equal(t, list{list{1.0, there.text}}, s.Admin.Rows("SELECT id, q::VARCHAR"+from+" WHERE q = "+there.sql))
			s.Admin.Write(path+"/rows/update", object{"where": "id = 1", "set": object{"q": "(SELECT max(q)" + from + " WHERE id = 0)"}})
			check()
			where := "q = '" + c.want[0] + "'"
			if typ == "binary" {
				where += "::BLOB"
			}
			s.Admin.OK("POST", path+"/optimize", object{"where": where})
			check()
		})
	}
}

// movedTo holds partition values that no table of the test has.
var movedTo = map[string]struct{ sql, text string }{
	"double": {"'-2.5e300'::DOUBLE", "-2.5e+300"}, "float": {"'1e10'::FLOAT", "10000000000.0"}, "binary": {`'z\x5C\x00'::BLOB`, `z\x5C\x00`},
	"timestamp":     {"'13000-01-01 00:00:00.25+00'::TIMESTAMPTZ", "13000-01-01 00:00:00.25+00"},
	"timestamp_ntz": {"'13000-01-01 00:00:00'::TIMESTAMP", "13000-01-01 00:00:00"},
	"date":          {"'13000-01-01'::DATE", "13000-01-01"}, "decimal(10,2)": {"7.25::DECIMAL(10,2)", "7.25"},
}

// TestRowPoliciesOverPartitionsOfAnyType checks that a reader sees the rows that a policy
// on the partition column shows, for every type.
func TestRowPoliciesOverPartitionsOfAnyType(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	foreignPartitions(s, "number", "double", map[string]string{}, "1.5", "NaN", "-0.0", "1.0E10")
	foreignPartitions(s, "amount", "decimal(10,2)", map[string]string{}, "5", "1E+2", "7.5", "5.99")
	foreignPartitions(s, "day", "date", map[string]string{}, "+12345-06-07", "2024-01-02", "0001-01-01", "2024-6-1")
	foreignPartitions(s, "moment", "timestamp", map[string]string{}, "+12345-06-07 00:00:00", "2024-01-02T00:30:00+01:00",
		"0001-01-01 00:00:00", "2024-01-02T00:00:00Z")
	s.Discover()
	ana := s.Member("ana@acme.example", "viewer", nil)
	shown := map[string]list{
		"number": {list{0.0, "1.5"}, list{2.0, "nan"}, list{4.0, "-0.0"}},
		"amount": {list{0.0, "5.00"}, list{6.0, "5.99"}},
		"day":    {list{0.0, "12345-06-07"}, list{6.0, "2024-06-01"}},
		"moment": {list{0.0, "12345-06-07 00:00:00+00"}, list{6.0, "2024-01-02 00:00:00+00"}},
	}
	for name, condition := range map[string]string{
		"number": `{"column":"id","op":"lt","value":6}`, "amount": `{"column":"p","op":"lt","value":6}`,
		"day": `{"column":"p","op":"gte","value":"2024-06-01"}`, "moment": `{"column":"p","op":"gte","value":"2024-01-02T00:00:00Z"}`,
	} {
		s.Policy(name, "", `{"effect":"permit","subject":{"role":"viewer"},"condition":`+condition+`}`)
		s.Policy(name, "", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`)
	}
	check := func(column string) {
		t.Helper()
		for name, rows := range shown {
			from := " FROM " + s.Schema + "." + name
			require.Equal(t, rows, ana.Rows("SELECT id, "+column+"::VARCHAR"+from+" WHERE id % 2 = 0 ORDER BY id"), name)
			require.Equal(t, float64(2*len(rows)), ana.Count(s.Schema+"."+name), name)
			require.Equal(t, 8.0, s.Admin.Count(s.Schema+"."+name), name)
		}
	}
	check("p")
	for name := range shown {
		s.Admin.OK("PATCH", s.TablePath(name)+"/columns/p", object{"name": "q"})
	}
	check("q")
}

// TestUnreadablePartitionValuesRefuseTheTableByColumn checks that the error names the
// column and the reason on every path that needs rows, but never the value, and not the
// column if a policy hides a column.
func TestUnreadablePartitionValuesRefuseTheTableByColumn(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, nil)
	const secret = "secret-value-31"
	foreignPartitions(s, "t", "date", map[string]string{}, "2024-01-02")
	foreignPartitions(s, "hidden", "double", map[string]string{}, "1.5")
	foreignPartitions(s, "free", "date", map[string]string{}, "2024-01-02") // without policies
	s.Discover()
	ana := s.Member("ana@acme.example", "editor", nil)
	for _, name := range []string{"t", "hidden"} {
		s.Policy(name, "", `{"effect":"permit","subject":{"everyone":true},"condition":{"column":"id","op":"lt","value":100}}`)
	}
	s.Admin.OK("POST", "/v1/organisations/"+s.Boot.OrganisationID+"/policies", object{
		"kind": "cls", "tableFqn": "lake." + s.Schema + ".hidden", "columnName": "p",
		"definition": json.RawMessage(`{"effect":"forbid","subject":{"role":"editor"}}`),
	})
	for _, name := range []string{"t", "hidden", "free"} {
		add := `{"add":{"path":"spoiled.parquet","partitionValues":{"p":"` + secret + `"},"size":1,"modificationTime":1,"dataChange":true}}` +
			"\n"
		require.NoError(t, os.WriteFile(filepath.Join(s.Root, name, secondCommit), []byte(add), 0o600))
	}
	s.Restart()
	ana.URL = s.URL
	for name, field := range map[string]string{"t": "columns.p", "hidden": "partition_column"} {
		from, path := " FROM "+s.Schema+"."+name, s.TablePath(name)
		for _, c := range []*harness.Client{s.Admin, ana} {
			for what, r := range map[string]harness.Reply{
				"query": c.Query("SELECT id" + from), "count": c.Query("SELECT count(*)" + from + " WHERE id = 0"),
				"rows":   c.Call("GET", path+"/rows", nil),
				"insert": c.Call("POST", path+"/rows", harness.RowsOf(object{"id": 9})),
				"update": c.Call("POST", path+"/rows/update", object{"where": "id = 0", "set": object{"name": "'x'"}}),
				"delete": c.Call("POST", path+"/rows/delete", object{"where": "id = 0"}),
				"merge":  c.Call("POST", path+"/rows/merge", object{"on": list{"id"}, "rows": list{object{"id": 1}}}),
			} {
				code, fields := r.Problem(t, 409)
				require.Equal(t, "partition_value_unreadable", code, "%s: %s", what, r.Body)
				require.Equal(t, []string{field}, fields, what)
				require.NotContains(t, string(r.Body), secret, what)
			}
			require.Contains(t, s.Log.String(), filepath.Join(s.Root, name), "the log has the full path")
			// Descriptions do without the rows.
			for _, place := range []string{path, path + "/columns", path + "/history"} {
				require.NotContains(t, fmt.Sprint(c.OK("GET", place, nil)), secret, place)
			}
		}
		for _, change := range []harness.Reply{
			s.Admin.Call("PATCH", path+"/columns/p", object{"name": "q"}), s.Admin.Call("POST", path+"/optimize", object{}),
			s.Admin.Call("PATCH", path+"/properties", object{"set": object{"delta.appendOnly": "true"}}),
		} {
			code, _ := change.Problem(t, 409)
			require.Equal(t, "partition_value_unreadable", code)
		}
		// A caller who may change the table must still not learn the name of a hidden column.
		for what, change := range map[string]harness.Reply{
			"optimize": ana.Call("POST", path+"/optimize", object{}), "vacuum": ana.Call("POST", path+"/vacuum", object{}),
			"rename":     ana.Call("PATCH", path+"/columns/name", object{"name": "q"}),
			"properties": ana.Call("PATCH", path+"/properties", object{"set": object{"delta.appendOnly": "true"}}),
			"restore":    ana.Call("POST", path+"/restore", object{"version": 0}),
			"constraint": ana.Call("POST", path+"/constraints", object{"name": "c", "expression": "id >= 0"}),
		} {
			require.NotContains(t, string(change.Body), secret, what)
			require.False(t, name == "hidden" && strings.Contains(string(change.Body), "columns.p"), "%s: %s", what, change.Body)
		}
	}
	s.Admin.OK("POST", s.TablePath("free")+"/restore", object{"version": 0})
	require.Equal(t, 2.0, s.Admin.Count(s.Schema+".free"))
}

// TestZeroAndNegativeZeroAreDifferentPartitions checks that rows of 0.0 and -0.0 are
// written to different files, although the engine compares the values as equal.
func TestZeroAndNegativeZeroAreDifferentPartitions(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	foreignPartitions(s, "t", "double", map[string]string{}, "1.5", "2.5", "3.5")
	s.Discover()
	path := s.TablePath("t")
	s.Admin.Write(path+"/rows/update",
		object{"where": "id < 4", "set": object{"p": "CASE WHEN id = 1 THEN 0.0::DOUBLE WHEN id = 3 THEN 'NaN'::DOUBLE ELSE -0.0::DOUBLE END"}})
	require.Equal(t, list{list{0.0, "-0.0"}, list{1.0, "0.0"}, list{2.0, "-0.0"}, list{3.0, "nan"}, list{4.0, "3.5"}, list{5.0, "3.5"}},
		s.Admin.Rows("SELECT id, p::VARCHAR FROM "+s.Schema+".t ORDER BY id"))
	require.Equal(t, list{list{3.0}}, s.Admin.Rows("SELECT count(*) FROM "+s.Schema+".t WHERE p = 0"))
}
