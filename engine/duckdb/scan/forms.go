package scan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// fileForm is a schema that some files of a list share.
type fileForm struct {
	// files are the numbers of the files in the list.
	files []int
}

// fileNode is an element of a Parquet file's schema.
type fileNode struct {
	name     string
	id       int
	hasID    bool
	repeated bool
	// nanos reports whether the element is a timestamp in nanoseconds.
	nanos    bool
	children []*fileNode
}

// hasNanos reports whether the element or one below it is a timestamp in nanoseconds.
func (n *fileNode) hasNanos() bool {
	return n.nanos || slices.ContainsFunc(n.children, (*fileNode).hasNanos)
}

// schemaRow is a row of DuckDB's description of a schema, which lists elements depth first.
type schemaRow struct {
	fileNode
	parts int
}

// schemaElement is SQL for a text with all properties of a schema element that decide the types of
// columns. The length precedes the name, because only the name can have arbitrary characters.
const schemaElement = "concat_ws(' ', length(name), name, coalesce(field_id::VARCHAR, '-'), coalesce(repetition_type, '-'), " +
	"coalesce(num_children, 0), type, converted_type, logical_type, duckdb_type)"

// formsOf returns the different schemas of the files with the given numbers.
func (v *Views) formsOf(s *fileScan, numbers []int) ([]fileForm, error) {
	digests := make(map[string]string, len(numbers))
	paths := make([]string, len(numbers))
	for i, n := range numbers {
		paths[i] = s.paths[n]
	}
	sql := "SELECT file_name, md5(string_agg(" + schemaElement + ", chr(10) ORDER BY column_id)) FROM system.main.parquet_schema(" +
		native.QuoteList(paths) + ") GROUP BY 1"
	err := v.inst.Each(sql, engine.Args{}, func(r engine.Row) error {
		digests[r.Text(0)] = r.Text(1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var forms []fileForm
	at := map[string]int{}
	for _, n := range numbers {
		digest := digests[s.literal[n]]
		if digest == "" {
			return nil, fileSchemaError("a file without a schema")
		}
		i, known := at[digest]
		if !known {
			i = len(forms)
			at[digest] = i
			forms = append(forms, fileForm{})
		}
		forms[i].files = append(forms[i].files, n)
	}
	return forms, nil
}

// schemaOf returns the root of the schema of a file. Its children are the columns of d.
func (v *Views) schemaOf(path string, d *native.Description) (*fileNode, error) {
	var rows []schemaRow
	const sql = "SELECT name, CASE WHEN field_id IS NULL THEN '' ELSE field_id::VARCHAR END, repetition_type, " +
		"coalesce(num_children, 0)::BIGINT, coalesce(logical_type, '') FROM system.main.parquet_schema("
	err := v.inst.Each(sql+native.QuoteList([]string{path})+") ORDER BY column_id", engine.Args{}, func(r engine.Row) error {
		nanos := strings.HasPrefix(r.Text(4), "Timestamp") && strings.Contains(r.Text(4), "NANOS=Nano")
		row := schemaRow{fileNode{name: r.Text(0), repeated: r.Text(2) == "REPEATED", nanos: nanos}, int(r.Int64(3))}
		if id, err := strconv.Atoi(r.Text(1)); err == nil {
			row.id, row.hasID = id, true
		}
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	root, rest := tree(rows)
	if root == nil || len(rest) > 0 {
		return nil, fileSchemaError("a file with a broken schema")
	}
	if len(d.Types) != len(root.children) {
		return nil, fileSchemaError("a file whose columns differ from its schema")
	}
	return root, nil
}

// tree builds the first element with everything below it, and returns the rows that follow;
// nil if rows are missing.
func tree(rows []schemaRow) (*fileNode, []schemaRow) {
	if len(rows) == 0 {
		return nil, nil
	}
	node, rest := rows[0].fileNode, rows[1:]
	for range rows[0].parts {
		var child *fileNode
		if child, rest = tree(rest); child == nil {
			return nil, nil
		}
		node.children = append(node.children, child)
	}
	return &node, rest
}

// element returns the element of a list as DuckDB reads it, nil if there is none: a repeated
// group of one child is that child.
func (n *fileNode) element() *fileNode {
	if !n.repeated {
		if len(n.children) != 1 || !n.children[0].repeated {
			return nil
		}
		n = n.children[0]
	}
	if len(n.children) == 1 {
		return n.children[0]
	}
	return n
}

// entry returns key and value of a map, nil if there are none.
func (n *fileNode) entry() (key, value *fileNode) {
	if !n.repeated {
		if len(n.children) != 1 {
			return nil, nil
		}
		n = n.children[0]
	}
	if len(n.children) != 2 {
		return nil, nil
	}
	return n.children[0], n.children[1]
}
