package problem

// Row is a row of the table, for the test that walks the source tree.
type Row struct {
	Name     string
	Sentinel error
	Code     string
}

// Rows returns the table.
func Rows() []Row {
	out := make([]Row, len(rows))
	for i, r := range rows {
		out[i] = Row{r.name, r.sentinel, r.code}
	}
	return out
}
