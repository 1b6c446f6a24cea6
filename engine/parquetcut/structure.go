package parquetcut

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/thrift/lib/go/thrift"
)

// structure is a Thrift struct as it stands in a file, its fields by their ids. Fields
// that mean nothing here are kept, so that nothing is lost that a later version of
// the format says of a column.
type structure []field

// field is one of a structure. Values are bool, int8, int16, int32, int64, float64,
// []byte, structure and list.
type field struct {
	id    int16
	value any
}

// list holds values of one type.
type list struct {
	of    thrift.TType
	items []any
}

// maxDepth is how deep structures and lists of the format may lie in each other.
const maxDepth = 16

// decode reads a structure from the front of b and returns its length.
func decode(b []byte) (s structure, length int, err error) {
	buffer := thrift.NewTMemoryBufferLen(0)
	buffer.Buffer.Write(b)
	d := &decoder{
		protocol: thrift.NewTCompactProtocolConf(buffer, &thrift.TConfiguration{MaxMessageSize: int32(min(len(b), 1<<30))}), //nolint:gosec // bounded
		left:     len(b),
	}
	s, err = d.structure(0)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %v", ErrNotCut, err)
	}
	return s, len(b) - buffer.Len(), nil
}

type decoder struct {
	protocol *thrift.TCompactProtocol
	// left is how many values may come in lists: each takes a byte or more.
	left int
}

func (d *decoder) structure(depth int) (structure, error) {
	ctx := context.Background()
	if _, err := d.protocol.ReadStructBegin(ctx); err != nil {
		return nil, err
	}
	var out structure
	for {
		_, kind, id, err := d.protocol.ReadFieldBegin(ctx)
		if err != nil {
			return nil, err
		}
		if kind == thrift.STOP {
			return out, d.protocol.ReadStructEnd(ctx)
		}
		if len(out) > 0 && id <= out[len(out)-1].id {
			return nil, fmt.Errorf("field %d comes after field %d", id, out[len(out)-1].id)
		}
		value, err := d.value(kind, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, field{id, value})
	}
}

func (d *decoder) value(kind thrift.TType, depth int) (any, error) {
	ctx := context.Background()
	if depth > maxDepth {
		return nil, fmt.Errorf("values lie %d deep", depth)
	}
	switch kind {
	case thrift.BOOL:
		return d.protocol.ReadBool(ctx)
	case thrift.BYTE:
		return d.protocol.ReadByte(ctx)
	case thrift.I16:
		return d.protocol.ReadI16(ctx)
	case thrift.I32:
		return d.protocol.ReadI32(ctx)
	case thrift.I64:
		return d.protocol.ReadI64(ctx)
	case thrift.DOUBLE:
		return d.protocol.ReadDouble(ctx)
	case thrift.STRING:
		return d.protocol.ReadBinary(ctx)
	case thrift.STRUCT:
		return d.structure(depth + 1)
	case thrift.LIST:
		return d.list(depth + 1)
	}
	return nil, fmt.Errorf("a value of type %s", kind)
}

func (d *decoder) list(depth int) (list, error) {
	of, n, err := d.protocol.ReadListBegin(context.Background())
	if err != nil {
		return list{}, err
	}
	if n < 0 || n > d.left || of == thrift.LIST { // the format has no lists of lists
		return list{}, fmt.Errorf("a list of %d values", n)
	}
	d.left -= n
	out := list{of: of, items: make([]any, n)}
	for i := range out.items {
		if out.items[i], err = d.value(of, depth); err != nil {
			return list{}, err
		}
	}
	return out, nil
}

// encode prints a structure.
func (s structure) encode() ([]byte, error) {
	buffer := thrift.NewTMemoryBuffer()
	err := encodeStructure(thrift.NewTCompactProtocolConf(buffer, nil), s)
	if err != nil {
		return nil, fmt.Errorf("printing a Parquet structure: %w", err)
	}
	return buffer.Bytes(), nil
}

func encodeStructure(p *thrift.TCompactProtocol, s structure) error {
	ctx := context.Background()
	if err := p.WriteStructBegin(ctx, ""); err != nil {
		return err
	}
	for _, f := range s {
		if err := p.WriteFieldBegin(ctx, "", typeOf(f.value), f.id); err != nil {
			return err
		}
		if err := encodeValue(p, f.value); err != nil {
			return err
		}
	}
	if err := p.WriteFieldStop(ctx); err != nil {
		return err
	}
	return p.WriteStructEnd(ctx)
}

func typeOf(value any) thrift.TType {
	switch v := value.(type) {
	case bool:
		return thrift.BOOL
	case int8:
		return thrift.BYTE
	case int16:
		return thrift.I16
	case int32:
		return thrift.I32
	case int64:
		return thrift.I64
	case float64:
		return thrift.DOUBLE
	case []byte:
		return thrift.STRING
	case structure:
		return thrift.STRUCT
	case list:
		return thrift.LIST
	default:
		panic(fmt.Sprintf("a Parquet structure with a %T", v))
	}
}

func encodeValue(p *thrift.TCompactProtocol, value any) error {
	ctx := context.Background()
	switch v := value.(type) {
	case bool:
		return p.WriteBool(ctx, v)
	case int8:
		return p.WriteByte(ctx, v)
	case int16:
		return p.WriteI16(ctx, v)
	case int32:
		return p.WriteI32(ctx, v)
	case int64:
		return p.WriteI64(ctx, v)
	case float64:
		return p.WriteDouble(ctx, v)
	case []byte:
		return p.WriteBinary(ctx, v)
	case structure:
		return encodeStructure(p, v)
	case list:
		if err := p.WriteListBegin(ctx, v.of, len(v.items)); err != nil {
			return err
		}
		for _, item := range v.items {
			if err := encodeValue(p, item); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s structure) get(id int16) (any, bool) {
	for _, f := range s {
		if f.id == id {
			return f.value, true
		}
	}
	return nil, false
}

func (s structure) has(id int16) bool {
	_, found := s.get(id)
	return found
}

// number is a whole number, or otherwise.
func (s structure) number(id int16, otherwise int64) int64 {
	value, _ := s.get(id)
	switch v := value.(type) {
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case int64:
		return v
	}
	return otherwise
}

// items are the members of a list; nil where it is none.
func (s structure) items(id int16) []any {
	value, _ := s.get(id)
	l, _ := value.(list)
	return l.items
}

// structures are the members of a list of structures; nil where it is none.
func (s structure) structures(id int16) []structure {
	items := s.items(id)
	out := make([]structure, 0, len(items))
	for _, item := range items {
		member, ok := item.(structure)
		if !ok {
			return nil
		}
		out = append(out, member)
	}
	return out
}

func (s structure) structure(id int16) structure {
	value, _ := s.get(id)
	out, _ := value.(structure)
	return out
}

// with is a copy with another value of a field.
func (s structure) with(id int16, value any) structure {
	out := slices.Clone(s)
	at, found := slices.BinarySearchFunc(out, id, func(f field, id int16) int { return int(f.id) - int(id) })
	if found {
		out[at].value = value
		return out
	}
	return slices.Insert(out, at, field{id, value})
}

// without is a copy that lacks fields.
func (s structure) without(ids ...int16) structure {
	return slices.DeleteFunc(slices.Clone(s), func(f field) bool { return slices.Contains(ids, f.id) })
}

func structureList(items []structure) list {
	out := list{of: thrift.STRUCT, items: make([]any, len(items))}
	for i, item := range items {
		out.items[i] = item
	}
	return out
}
