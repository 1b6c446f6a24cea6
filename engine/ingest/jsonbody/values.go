package jsonbody

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lakewarden/lakewarden/engine/ingest/staging"
)

// decoder stages JSON values as rows.
type decoder struct {
	*staging.Rows
	// order holds the column at each place of the previous row, because most bodies repeat the
	// order.
	order []int
	// cursor walks over the current row.
	cursor cursor
	// scratch and keyText hold unescaped strings.
	scratch, keyText []byte
}

// Values appends JSON values that are part of bodies in another format.
type Values struct{ rows *decoder }

// NewValues returns Values whose problems are those of rows.
func NewValues(rows *staging.Rows) Values { return Values{&decoder{Rows: rows}} }

// Append appends the value in text, or NULL with a problem.
func (v Values) Append(cells *staging.Cells, text []byte) error {
	if !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		v.rows.Problem(cells.Path, cells.Typ.Expects()+", as JSON")
		cells.Null()
		return nil
	}
	if deeper(text, v.rows.Limits.Depth) {
		return staging.ErrTooDeep
	}
	return v.rows.value(cells, &cursor{b: text})
}

// row stages one value as a row. Its grammar was checked.
func (j *decoder) row(value []byte) error {
	j.Begin()
	if err := j.Grow(int64(len(value))); err != nil {
		return err
	}
	if deeper(value, j.Limits.Depth) {
		return staging.ErrTooDeep
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
		j.Problem("", "expected an object, or a list of values")
	}
	if err != nil {
		return err
	}
	return j.End()
}

func (j *decoder) object(c *cursor) error {
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

// lookup returns the number of the column with a name, or -1.
func (j *decoder) lookup(place int, quoted []byte, plain bool) int {
	name := quoted[1 : len(quoted)-1]
	if plain && place < len(j.order) {
		if i := j.order[place]; i >= 0 && j.Columns[i].Name == string(name) {
			return i
		}
	}
	if !plain {
		j.scratch, _ = unescape(j.scratch[:0], quoted)
		name = j.scratch
	}
	i := j.Find(name)
	if place < len(j.Columns) {
		if place == len(j.order) {
			j.order = append(j.order, i)
		}
		j.order[place] = i
	}
	return i
}

// named appends the value of a column.
func (j *decoder) named(i int, quoted []byte, c *cursor) error {
	if i < 0 {
		j.Problem(j.shown(quoted), staging.UnknownColumn)
		c.skip()
		return nil
	}
	cells := j.Column(i)
	if cells == nil {
		j.Problem(j.Columns[i].Name, staging.NamedTwice)
		c.skip()
		return nil
	}
	return j.value(cells, c)
}

// positions stages a row that is a list: one value for each column.
func (j *decoder) positions(c *cursor) error {
	c.i++
	n := 0
	for ; c.peek() != ']'; n++ {
		if n >= len(j.Columns) {
			c.skip()
			continue
		}
		if err := j.value(j.Column(n), c); err != nil {
			return err
		}
	}
	c.i++
	if n != len(j.Columns) {
		j.Problem("", "a list must have one value for each column of the table")
	}
	return nil
}

// value appends the next value to cells, or NULL with a problem.
func (j *decoder) value(cells *staging.Cells, c *cursor) error {
	message := ""
	switch c.peek() {
	case 'n':
		c.word()
		cells.Null()
		return nil
	case '"':
		message = j.str(cells, c)
	case '{':
		switch cells.Typ.Kind {
		case staging.KindStruct:
			return j.members(cells, c)
		case staging.KindMap:
			return j.keyed(cells, c)
		}
		message = cells.Typ.Expects()
		c.skip()
	case '[':
		switch cells.Typ.Kind {
		case staging.KindArray:
			return j.elements(cells, c)
		case staging.KindMap:
			return j.entries(cells, c)
		}
		message = cells.Typ.Expects()
		c.skip()
	case 't', 'f':
		if yes := len(c.word()) == len("true"); cells.Typ.Kind == staging.KindBoolean {
			cells.Boolean(yes)
		} else {
			message = cells.Typ.Expects()
		}
	default:
		message = cells.Digits(c.word())
	}
	if message != "" {
		j.Problem(cells.Path, message)
		cells.Null()
	}
	return nil
}

func (j *decoder) str(cells *staging.Cells, c *cursor) string {
	quoted, plain := c.str()
	text, ok := quoted[1:len(quoted)-1], true
	if !plain {
		j.scratch, ok = unescape(j.scratch[:0], quoted)
		text = j.scratch
	}
	if !ok {
		return staging.NotUTF8
	}
	return cells.Quoted(text)
}

func (j *decoder) elements(cells *staging.Cells, c *cursor) error {
	cells.List()
	element := cells.Parts[0]
	for c.i++; c.peek() != ']'; {
		if err := j.Grow(element.Width); err != nil {
			return err
		}
		if err := j.value(element, c); err != nil {
			return err
		}
	}
	c.i++
	return nil
}

func (j *decoder) members(cells *staging.Cells, c *cursor) error {
	cells.Structure()
	for c.i++; c.peek() != '}'; {
		quoted, plain := c.str()
		name := quoted[1 : len(quoted)-1]
		if !plain {
			j.scratch, _ = unescape(j.scratch[:0], quoted)
			name = j.scratch
		}
		i := cells.Find(name)
		c.peek()
		if i < 0 {
			j.Problem(cells.Path+"."+j.shown(quoted), staging.UnknownMember)
			c.skip()
			continue
		}
		member := cells.Member(i)
		if member == nil {
			j.Problem(cells.Parts[i].Path, staging.NamedTwice)
			c.skip()
			continue
		}
		if err := j.value(member, c); err != nil {
			return err
		}
	}
	c.i++
	cells.EndStructure()
	return nil
}

// keyed appends a map that is written as an object: keys are texts of their type.
func (j *decoder) keyed(cells *staging.Cells, c *cursor) error {
	cells.Entries()
	key, value := cells.Parts[0], cells.Parts[1]
	for c.i++; c.peek() != '}'; {
		if err := j.Grow(key.Width + value.Width); err != nil {
			return err
		}
		quoted, _ := c.str()
		if message := j.key(key, quoted); message != "" {
			j.Problem(key.Path, message)
			key.Null()
		}
		if err := j.value(value, c); err != nil {
			return err
		}
	}
	c.i++
	j.Distinct(key)
	return nil
}

func (j *decoder) key(key *staging.Cells, quoted []byte) string {
	text, ok := unescape(j.keyText[:0], quoted)
	if j.keyText = text; !ok {
		return staging.NotUTF8
	}
	if key.Typ.Kind == staging.KindBoolean || key.Typ.Kind == staging.KindFloat || key.Typ.Kind == staging.KindDouble {
		return key.Field(text)
	}
	return key.Quoted(text)
}

// entries appends a map that is written as a list of objects with key and value.
func (j *decoder) entries(cells *staging.Cells, c *cursor) error {
	cells.Entries()
	key, value := cells.Parts[0], cells.Parts[1]
	for c.i++; c.peek() != ']'; {
		if err := j.Grow(key.Width + value.Width); err != nil {
			return err
		}
		if c.peek() != '{' {
			j.Problem(cells.Path, cells.Typ.Expects())
			key.Null()
			value.Null()
			c.skip()
			continue
		}
		if err := j.entry(cells, c); err != nil {
			return err
		}
	}
	c.i++
	j.Distinct(key)
	return nil
}

func (j *decoder) entry(cells *staging.Cells, c *cursor) error {
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
			j.Problem(cells.Path, cells.Typ.Expects())
			c.skip()
			continue
		}
		parts[i] = true
		if i == 0 && c.peek() == 'n' {
			j.Problem(cells.Parts[0].Path, staging.NullKey)
		}
		if err := j.value(cells.Parts[i], c); err != nil {
			return err
		}
	}
	c.i++
	if !parts[0] {
		j.Problem(cells.Parts[0].Path, staging.NullKey)
		cells.Parts[0].Null()
	}
	if !parts[1] {
		cells.Parts[1].Null()
	}
	return nil
}

// shown returns a name of the body as problems show it.
func (j *decoder) shown(quoted []byte) string {
	name, _ := unescape(nil, quoted)
	return staging.ShownName(name)
}
