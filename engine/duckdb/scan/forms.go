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
	root *fileNode
	// files are the numbers of the files in the list.
	files []int
}

// fileNode is an element of a Parquet file's schema.
type fileNode struct {
	name     string
	id       int
	hasID    bool
	repeated bool
	children []*fileNode
}

// schemaRow is a row of DuckDB's description of a schema, which lists elements depth first.
type schemaRow struct {
	fileNode
	parts int
}

// formsOf returns the different schemas of the scan's files.
func (v *Views) formsOf(s *fileScan) ([]fileForm, error) {
	rows := map[string][]schemaRow{}
	texts := map[string]*strings.Builder{}
	const sql = "SELECT file_name, name, CASE WHEN field_id IS NULL THEN '' ELSE field_id::VARCHAR END, repetition_type, " +
		"coalesce(num_children, 0)::BIGINT, " +
		"concat_ws(' ', type, converted_type, duckdb_type) FROM system.main.parquet_schema("
	err := v.inst.Each(sql+native.QuoteList(s.paths)+") ORDER BY file_name, column_id", engine.Args{}, func(r engine.Row) error {
		file := r.Text(0)
		row := schemaRow{fileNode{name: r.Text(1), repeated: r.Text(3) == "REPEATED"}, int(r.Int64(4))}
		if id, err := strconv.Atoi(r.Text(2)); err == nil {
			row.id, row.hasID = id, true
		}
		rows[file] = append(rows[file], row)
		if texts[file] == nil {
			texts[file] = &strings.Builder{}
		}
		for col := 1; col <= 5; col++ {
			if col != 4 {
				texts[file].WriteString(strconv.Quote(r.Text(col)))
			}
		}
		texts[file].WriteString(strconv.Itoa(row.parts) + "\n")
		return nil
	})
	if err != nil {
		return nil, err
	}
	var forms []fileForm
	at := map[string]int{}
	for number, path := range s.literal {
		of := rows[path]
		if len(of) == 0 {
			return nil, fileSchemaError("a file without a schema")
		}
		text := texts[path].String()
		i, known := at[text]
		if !known {
			root, rest := tree(of)
			if root == nil || len(rest) > 0 {
				return nil, fileSchemaError("a file with a broken schema")
			}
			i = len(forms)
			at[text] = i
			forms = append(forms, fileForm{root: root})
		}
		forms[i].files = append(forms[i].files, number)
	}
	return slices.Clip(forms), nil
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
