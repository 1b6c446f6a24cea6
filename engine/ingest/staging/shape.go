package staging

// maxShapes bounds the number of different sets of columns that the rows of a body name.
const maxShapes = 4096

// shapes numbers the sets of columns that rows name.
type shapes struct {
	columns int
	ids     map[string]int32
	sets    []string
	// first holds the first row of each set, -1 for a set that is named for all rows.
	first []int64
	// current is the set of the current row, a bit for each column.
	current []byte
	last    int32
}

func newShapes(columns int) *shapes {
	return &shapes{columns: columns, ids: map[string]int32{}, current: make([]byte, (columns+7)/8)}
}

func (s *shapes) begin()         { clear(s.current) }
func (s *shapes) add(i int)      { s.current[i/8] |= 1 << (i % 8) }
func (s *shapes) has(i int) bool { return s.current[i/8]&(1<<(i%8)) != 0 }

// id returns the number of the current set. row is the row that names it, -1 if it is named
// for all rows.
func (s *shapes) id(row int64) (int32, error) {
	if len(s.sets) > 0 && s.sets[s.last] == string(s.current) {
		return s.last, nil
	}
	id, ok := s.ids[string(s.current)]
	if !ok {
		if len(s.sets) == maxShapes {
			return 0, &LimitError{What: "column sets", Limit: maxShapes}
		}
		id = int32(len(s.sets))
		set := string(s.current)
		s.ids[set] = id
		s.sets, s.first = append(s.sets, set), append(s.first, row)
	}
	s.last = id
	return id, nil
}

// lists returns the sets as names.
func (s *shapes) lists(name func(int) string) [][]string {
	out := make([][]string, len(s.sets))
	for n, set := range s.sets {
		out[n] = []string{}
		for i := range s.columns {
			if set[i/8]&(1<<(i%8)) != 0 {
				out[n] = append(out[n], name(i))
			}
		}
	}
	return out
}
