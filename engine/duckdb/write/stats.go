package write

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/lakewarden/lakewarden/engine"
)

// dataFile reads one row of the result of COPY with RETURN_STATS.
func dataFile(r engine.Row) engine.DataFile {
	f := engine.DataFile{
		Name:      filepath.Base(r.Text(0)),
		Rows:      int64(r.Batch.Column(1).(*array.Uint64).Value(r.Index)),
		Bytes:     int64(r.Batch.Column(2).(*array.Uint64).Value(r.Index)),
		Partition: map[string]*string{},
	}
	statistics := r.Batch.Column(4).(*array.Map)
	eachEntry(statistics, r.Index, func(key string, at int) {
		f.Columns = append(f.Columns, columnStats(key, statistics.Items().(*array.Map), at))
	})
	keys := r.Batch.Column(5).(*array.Map)
	eachEntry(keys, r.Index, func(key string, at int) { f.Partition[key] = textAt(keys.Items().(*array.String), at) })
	return f
}

func columnStats(name string, facts *array.Map, row int) engine.ColumnStats {
	out := engine.ColumnStats{Path: splitQuoted(name)}
	values := facts.Items().(*array.String)
	eachEntry(facts, row, func(key string, at int) {
		value := textAt(values, at)
		if value == nil {
			return
		}
		switch key {
		case "min":
			out.Min = value
		case "max":
			out.Max = value
		case "has_nan":
			out.HasNaN = *value == "true"
		case "null_count":
			if n, err := strconv.ParseInt(*value, 10, 64); err == nil {
				out.NullCount = &n
			}
		}
	})
	return out
}

func eachEntry(m *array.Map, row int, f func(key string, at int)) {
	if m.IsNull(row) {
		return
	}
	keys := m.Keys().(*array.String)
	start, end := m.ValueOffsets(row)
	for at := int(start); at < int(end); at++ {
		f(strings.Clone(keys.Value(at)), at)
	}
}

func textAt(column *array.String, row int) *string {
	if column.IsNull(row) {
		return nil
	}
	text := strings.Clone(column.Value(row))
	return &text
}

// splitQuoted parses "a"."b""c" as the path a, b"c.
func splitQuoted(text string) []string {
	var path []string
	for text != "" {
		text = strings.TrimPrefix(text, `"`)
		var part strings.Builder
		for {
			before, after, found := strings.Cut(text, `"`)
			part.WriteString(before)
			text = after
			if !found || !strings.HasPrefix(after, `"`) {
				break
			}
			part.WriteByte('"')
			text = after[1:]
		}
		path = append(path, part.String())
		text = strings.TrimPrefix(text, ".")
	}
	return path
}
