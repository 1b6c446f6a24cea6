package arrowcheck

// The numbers of the tables' fields in the format's schema files.
const (
	messageType, messageHeader, messageBody         = 1, 2, 3
	schemaEndianness, schemaFields, schemaMetadata  = 0, 1, 2
	fieldName, fieldTypeKind, fieldType             = 0, 2, 3
	fieldDictionary, fieldChildren, fieldMetadata   = 4, 5, 6
	timestampZone, unionCodes                       = 1, 1
	dictionaryID, dictionaryData, dictionaryIsDelta = 0, 1, 2
	batchLength, batchNodes, batchBuffers           = 0, 1, 2
	batchCompression, batchVariadic                 = 3, 4
)

// The kinds of types that the check distinguishes.
const timestampType, unionType, binaryViewType, stringViewType, lastType = 10, 14, 23, 24, 26

// demand is the number of nodes, buffers and view counts that the library takes from a batch
// without checking how many there are.
type demand struct{ nodes, buffers, views int }

func (d *demand) add(o demand) {
	d.nodes += o.nodes
	d.buffers += o.buffers
	d.views += o.views
}

// ownBuffers maps the kind of a type to its number of buffers, without those of its children. A
// union has one or two; no stream with compressed data has any.
var ownBuffers = [lastType + 1]int{
	2: 2, 3: 2, 4: 3, 5: 3, 6: 2, 7: 2, 8: 2, 9: 2, timestampType: 2, 11: 2, 12: 2, 13: 1, unionType: 1, 15: 2, 16: 1, 17: 2, 18: 2,
	19: 3, 20: 3, 21: 2, binaryViewType: 2, stringViewType: 2, 25: 3, 26: 3,
}

// schemaCheck walks over a schema. The length of the message bounds what it may visit: valid
// messages do not share parts.
type schemaCheck struct {
	rules  Rules
	budget int
	// dictionaries are the demands of dictionaries, by their ids.
	dictionaries map[int64]demand
}

// checkSchema returns the demands of batches and dictionaries.
func checkSchema(header flatTable, rules Rules) (demand, map[int64]demand, error) {
	if header.int16Field(schemaEndianness) != 0 {
		return demand{}, nil, errBigEndian
	}
	c := &schemaCheck{rules: rules, budget: len(header.Bytes), dictionaries: map[int64]demand{}}
	batch, err := c.fields(header, schemaFields, 0)
	if err != nil {
		return demand{}, nil, err
	}
	return batch, c.dictionaries, c.metadata(header, schemaMetadata)
}

func (c *schemaCheck) spend(n int) error {
	if c.budget -= n; c.budget < 0 {
		return errSchemaSize
	}
	return nil
}

// text spends the length of a string.
func (c *schemaCheck) text(t flatTable, field int) error { return c.spend(t.vector(field, 1).n) }

func (c *schemaCheck) metadata(t flatTable, field int) error {
	pairs := t.vector(field, 4)
	for i := range pairs.n {
		pair := pairs.tableAt(i)
		if err := c.spend(8 + pair.vector(0, 1).n + pair.vector(1, 1).n); err != nil {
			return err
		}
	}
	return nil
}

// fields checks the children of a field, or of the schema, and returns the sum of their
// demands.
func (c *schemaCheck) fields(t flatTable, field, depth int) (sum demand, err error) {
	if depth > c.rules.Depth {
		return sum, ErrTooDeep
	}
	children := t.vector(field, 4)
	for i := range children.n {
		d, err := c.field(children.tableAt(i), depth)
		if err != nil {
			return sum, err
		}
		sum.add(d)
	}
	return sum, nil
}

func (c *schemaCheck) field(t flatTable, depth int) (d demand, err error) {
	if err := c.spend(8); err != nil {
		return d, err
	}
	if err := c.text(t, fieldName); err != nil {
		return d, err
	}
	kind, err := c.kind(t)
	if err != nil {
		return d, err
	}
	if err := c.metadata(t, fieldMetadata); err != nil {
		return d, err
	}
	if d, err = c.fields(t, fieldChildren, depth+1); err != nil {
		return d, err
	}
	own := demand{nodes: 1, buffers: ownBuffers[kind]}
	if kind == binaryViewType || kind == stringViewType {
		own.views = 1
	}
	d.add(own)
	return c.encoded(t, d), nil
}

// kind returns the kind of a field's type.
func (c *schemaCheck) kind(t flatTable) (byte, error) {
	kind := t.byteField(fieldTypeKind)
	typ, ok := t.table(fieldType)
	switch {
	case !ok || kind == 0 || kind > lastType:
		return 0, errMessage
	case kind == unionType && !c.rules.Unions:
		return 0, errUnion
	case kind == unionType:
		return kind, c.spend(len(typ.vector(unionCodes, 4).elements))
	case kind == timestampType:
		return kind, c.text(typ, timestampZone)
	}
	return kind, nil
}

// encoded returns the demand of a field that may have a dictionary. d is the demand of its
// type.
func (c *schemaCheck) encoded(t flatTable, d demand) demand {
	dictionary, ok := t.table(fieldDictionary)
	if !ok {
		return d
	}
	id := dictionary.int64Field(dictionaryID)
	have := c.dictionaries[id]
	c.dictionaries[id] = demand{max(have.nodes, d.nodes), max(have.buffers, d.buffers), max(have.views, d.views)}
	return demand{nodes: 1, buffers: 2}
}
