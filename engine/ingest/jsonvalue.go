package ingest

import "github.com/go-json-experiment/json/jsontext"

// jsonRows turns JSON values into rows.
type jsonRows struct {
	*rows
	// order is the column that stood at each place of the row before: most bodies
	// repeat themselves.
	order []int
	// cursor walks over the row at hand.
	cursor cursor
	// scratch and keyText hold strings without their escapes.
	scratch, keyText []byte
}

// jsonValues appends JSON values that are part of bodies in another format.
type jsonValues struct{ rows *jsonRows }

func newJSONValues(rows *rows) jsonValues { return jsonValues{&jsonRows{rows: rows}} }

// append appends the value in text, or NULL with a problem.
func (v jsonValues) append(cells *cells, text []byte) error {
	if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		v.rows.problem(cells.path, cells.typ.expects()+", as JSON")
		cells.null()
		return nil
	}
	if deeper(text, v.rows.limits.Depth) {
		return ErrTooDeep
	}
	return v.rows.value(cells, &cursor{b: text})
}

// row takes one checked value as a row.
func (j *jsonRows) row(value []byte) error {
	j.begin()
	if err := j.grow(int64(len(value))); err != nil {
		return err
	}
	if deeper(value, j.limits.Depth) {
		return ErrTooDeep
	}
	j.cursor = cursor{b: value}
	c := &j.cursor
	var err error
	switch c.peek() {
	case '{':
		err = j.object(c)
	case '[':
		err = j.positions(c)
	default:
		j.problem("", "expected an object, or a list of values")
	}
	if err != nil {
		return err
	}
	return j.end()
}

func (j *jsonRows) object(c *cursor) error {
	c.i++
	for place := 0; c.peek() != '}'; place++ {
		quoted, plain := c.str()
		i := j.lookup(place, quoted, plain)
		c.peek()
		if err := j.named(i, quoted, c); err != nil {
			return err
		}
	}
	c.i++
	return nil
}

// lookup finds the column that a name means.
func (j *jsonRows) lookup(place int, quoted []byte, plain bool) int {
	name := quoted[1 : len(quoted)-1]
	if plain && place < len(j.order) {
		if i := j.order[place]; i >= 0 && j.columns[i].Name == string(name) {
			return i
		}
	}
	if !plain {
		j.scratch, _ = unescape(j.scratch[:0], quoted)
		name = j.scratch
	}
	i := j.find(name)
	if place < len(j.columns) {
		if place == len(j.order) {
			j.order = append(j.order, i)
		}
		j.order[place] = i
	}
	return i
}

// named takes the value of a column.
func (j *jsonRows) named(i int, quoted []byte, c *cursor) error {
	if i < 0 {
		j.problem(j.shown(quoted), unknownColumn)
		c.skip()
		return nil
	}
	cells := j.column(i)
	if cells == nil {
		j.problem(j.columns[i].Name, namedTwice)
		c.skip()
		return nil
	}
	return j.value(cells, c)
}

// positions takes a row that is a list: one value for each column.
func (j *jsonRows) positions(c *cursor) error {
	c.i++
	n := 0
	for ; c.peek() != ']'; n++ {
		if n >= len(j.columns) {
			c.skip()
			continue
		}
		if err := j.value(j.column(n), c); err != nil {
			return err
		}
	}
	c.i++
	if n != len(j.columns) {
		j.problem("", "a list must have one value for each column of the table")
	}
	return nil
}

// value appends the next value to cells, or NULL with a problem.
func (j *jsonRows) value(cells *cells, c *cursor) error {
	message := ""
	switch c.peek() {
	case 'n':
		c.word()
		cells.null()
		return nil
	case '"':
		message = j.str(cells, c)
	case '{':
		switch cells.typ.kind {
		case kindStruct:
			return j.members(cells, c)
		case kindMap:
			return j.keyed(cells, c)
		}
		message = cells.typ.expects()
		c.skip()
	case '[':
		switch cells.typ.kind {
		case kindArray:
			return j.elements(cells, c)
		case kindMap:
			return j.entries(cells, c)
		}
		message = cells.typ.expects()
		c.skip()
	case 't', 'f':
		if yes := len(c.word()) == len("true"); cells.typ.kind == kindBoolean {
			cells.boolean(yes)
		} else {
			message = cells.typ.expects()
		}
	default:
		message = cells.digits(c.word())
	}
	if message != "" {
		j.problem(cells.path, message)
		cells.null()
	}
	return nil
}

func (j *jsonRows) str(cells *cells, c *cursor) string {
	quoted, plain := c.str()
	text, ok := quoted[1:len(quoted)-1], true
	if !plain {
		j.scratch, ok = unescape(j.scratch[:0], quoted)
		text = j.scratch
	}
	if !ok {
		return notUTF8
	}
	return cells.quoted(text)
}

func (j *jsonRows) elements(cells *cells, c *cursor) error {
	cells.list()
	element := cells.parts[0]
	for c.i++; c.peek() != ']'; {
		if err := j.grow(element.width); err != nil {
			return err
		}
		if err := j.value(element, c); err != nil {
			return err
		}
	}
	c.i++
	return nil
}

func (j *jsonRows) members(cells *cells, c *cursor) error {
	cells.structure()
	for c.i++; c.peek() != '}'; {
		quoted, plain := c.str()
		name := quoted[1 : len(quoted)-1]
		if !plain {
			j.scratch, _ = unescape(j.scratch[:0], quoted)
			name = j.scratch
		}
		i := cells.find(name)
		c.peek()
		if i < 0 {
			j.problem(cells.path+"."+j.shown(quoted), unknownMember)
			c.skip()
			continue
		}
		member := cells.member(i)
		if member == nil {
			j.problem(cells.parts[i].path, namedTwice)
			c.skip()
			continue
		}
		if err := j.value(member, c); err != nil {
			return err
		}
	}
	c.i++
	cells.endStructure()
	return nil
}

// keyed takes a map that is written as an object: keys are texts of their type.
func (j *jsonRows) keyed(cells *cells, c *cursor) error {
	cells.entries()
	key, value := cells.parts[0], cells.parts[1]
	for c.i++; c.peek() != '}'; {
		if err := j.grow(key.width + value.width); err != nil {
			return err
		}
		quoted, _ := c.str()
		if message := j.key(key, quoted); message != "" {
			j.problem(key.path, message)
			key.null()
		}
		if err := j.value(value, c); err != nil {
			return err
		}
	}
	c.i++
	j.distinct(key)
	return nil
}

func (j *jsonRows) key(key *cells, quoted []byte) string {
	text, ok := unescape(j.keyText[:0], quoted)
	if j.keyText = text; !ok {
		return notUTF8
	}
	if key.typ.kind == kindBoolean || key.typ.kind == kindFloat || key.typ.kind == kindDouble {
		return key.field(text)
	}
	return key.quoted(text)
}

// entries takes a map that is written as a list of objects with key and value.
func (j *jsonRows) entries(cells *cells, c *cursor) error {
	cells.entries()
	key, value := cells.parts[0], cells.parts[1]
	for c.i++; c.peek() != ']'; {
		if err := j.grow(key.width + value.width); err != nil {
			return err
		}
		if c.peek() != '{' {
			j.problem(cells.path, cells.typ.expects())
			key.null()
			value.null()
			c.skip()
			continue
		}
		if err := j.entry(cells, c); err != nil {
			return err
		}
	}
	c.i++
	j.distinct(key)
	return nil
}

func (j *jsonRows) entry(cells *cells, c *cursor) error {
	parts := [2]bool{}
	for c.i++; c.peek() != '}'; {
		quoted, _ := c.str()
		i := -1
		switch string(quoted) {
		case `"key"`:
			i = 0
		case `"value"`:
			i = 1
		}
		c.peek()
		if i < 0 || parts[i] {
			j.problem(cells.path, cells.typ.expects())
			c.skip()
			continue
		}
		parts[i] = true
		if i == 0 && c.peek() == 'n' {
			j.problem(cells.parts[0].path, nullKey)
		}
		if err := j.value(cells.parts[i], c); err != nil {
			return err
		}
	}
	c.i++
	if !parts[0] {
		j.problem(cells.parts[0].path, nullKey)
		cells.parts[0].null()
	}
	if !parts[1] {
		cells.parts[1].null()
	}
	return nil
}

// shown is a name of the body in a problem.
func (j *jsonRows) shown(quoted []byte) string {
	name, _ := unescape(nil, quoted)
	return shownName(name)
}
