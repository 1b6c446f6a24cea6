package delta

import "strings"

// parseColumns parses a property that lists columns, such as "a, st.x, `odd,
// name`.`y`".
func parseColumns(text string) [][]string {
	var list [][]string
	var path []string
	var word strings.Builder
	quoted, wasQuoted := false, false
	endWord := func() {
		name := word.String()
		if !wasQuoted {
			name = strings.TrimSpace(name)
		}
		if name != "" {
			path = append(path, name)
		}
		word.Reset()
		wasQuoted = false
	}
	endPath := func() {
		if endWord(); len(path) > 0 {
			list = append(list, path)
		}
		path = nil
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '`' && quoted && i+1 < len(text) && text[i+1] == '`':
			word.WriteByte(c)
			i++
		case c == '`':
			if quoted = !quoted; quoted {
				word.Reset() // spaces before the quotation
				wasQuoted = true
			}
		case quoted:
			word.WriteByte(c)
		case c == ',':
			endPath()
		case c == '.':
			endWord()
		case !wasQuoted:
			word.WriteByte(c)
		}
	}
	endPath()
	return list
}

// printColumns is the inverse of parseColumns.
func printColumns(list [][]string) string {
	items := make([]string, len(list))
	for i, path := range list {
		parts := make([]string, len(path))
		for j, name := range path {
			parts[j] = "`" + strings.ReplaceAll(name, "`", "``") + "`"
		}
		items[i] = strings.Join(parts, ".")
	}
	return strings.Join(items, ",")
}
