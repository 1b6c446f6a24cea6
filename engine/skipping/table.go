package skipping

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// readable reports whether the rows of the table are, file by file, what a plain
// reader of Parquet sees, given the names that files have for columns.
func readable(snap *delta.Snapshot) bool {
	if delta.CheckReadable(snap) != nil {
		return false
	}
	fields := snap.Schema().Fields
	if !snap.FoundByName() && snap.ColumnIDs() == nil {
		return false
	}
	for _, f := range fields {
		if containsVariant(f.Type) || slices.Contains(snap.PartitionColumns(), f.Name) && !bounded(f.Type) {
			return false
		}
	}
	// A file of a table of nothing but partition columns has no column.
	return len(fields) > len(snap.PartitionColumns())
}

// Check refuses a table that can be read neither as a list of its files nor
// through its log, of which the engine misreads a partitioned one with mapped
// columns. Its error is a [delta.FeatureError].
func Check(snap *delta.Snapshot) error {
	if err := delta.CheckScannable(snap); err != nil && !indexOf(snap).usable() {
		return err
	}
	return nil
}

// CheckRestricted is [Check] for a reader who sees some rows of the table only.
// Whether it refuses does not follow from files that hold hidden rows.
func CheckRestricted(snap *delta.Snapshot) error {
	err := delta.CheckScannable(snap)
	if err == nil {
		return nil
	}
	if !ListsRestricted(snap) {
		return err
	}
	return nil
}

// ListsRestricted reports whether [ListRestricted] lists the table.
func ListsRestricted(snap *delta.Snapshot) bool {
	x := indexOf(snap)
	return x.usable() && (x.loaded() || !deletionVectors(snap))
}

// deletionVectors reports whether the protocol lets files have them.
func deletionVectors(snap *delta.Snapshot) bool {
	return slices.Contains(snap.Protocol().ReaderFeatures, "deletionVectors")
}

// partsOf are the parts of the table's columns if files have to be looked into: for
// field ids of members, and for structs of which a file may have no present member.
func partsOf(snap *delta.Snapshot, byID bool) [][]engine.FieldID {
	fields := snap.Schema().Fields
	if !slices.ContainsFunc(fields, func(f delta.Field) bool { return hasMembers(f.Type) }) || !byID && !snap.MembersReplaced() {
		return nil
	}
	parts := make([][]engine.FieldID, len(fields))
	for _, c := range snap.FileColumns() {
		at := slices.IndexFunc(fields, func(f delta.Field) bool { return f.Name == c.Name })
		parts[at] = FieldIDs(c.Children)
	}
	return parts
}

// FieldIDs are the names and field ids of columns, and of what is nested in them, as
// they stand in data files.
func FieldIDs(columns []delta.FileColumn) []engine.FieldID {
	var out []engine.FieldID
	for _, c := range columns {
		out = append(out, engine.FieldID{Column: c.FileName, ID: c.ID, Children: FieldIDs(c.Children)})
	}
	return out
}

// containsVariant reports a type that plain Parquet has in another form.
func containsVariant(t delta.DataType) bool {
	switch t := t.(type) {
	case delta.Array:
		return containsVariant(t.Element)
	case delta.Map:
		return containsVariant(t.Key) || containsVariant(t.Value)
	case delta.Struct:
		return slices.ContainsFunc(t.Fields, func(f delta.Field) bool { return containsVariant(f.Type) })
	}
	return t == delta.Variant
}

func nested(t delta.DataType) bool {
	switch t.(type) {
	case delta.Array, delta.Map, delta.Struct:
		return true
	}
	return false
}

// hasMembers reports a struct at or below t. That such a column is in a file
// says nothing about its members.
func hasMembers(t delta.DataType) bool {
	switch t := t.(type) {
	case delta.Array:
		return hasMembers(t.Element)
	case delta.Map:
		return hasMembers(t.Key) || hasMembers(t.Value)
	case delta.Struct:
		return true
	}
	return false
}

// listable reports whether every list can say the name. A local one takes no
// backslash in what it has to mark as no pattern. Absolute names and those with a
// scheme never get into a snapshot.
func listable(name string) bool {
	return !strings.Contains(name, `\`) || !strings.ContainsAny(name, "*?[")
}

// group are files with equal partition values.
type group struct {
	// key tells groups apart.
	key string
	// values are what engine.FileGroup.Partition holds; nil without partitions.
	values map[string]*string
	// spans are the same by the position of the partition column.
	spans []span
}

// partitioner sorts files into groups, in the order in which they come.
type partitioner struct {
	columns []delta.Field
	// stored are the names that the log has for the columns.
	stored []string
	groups []group
	byKey  map[string]int32
	key    []byte
}

func newPartitioner(schema delta.Struct, stored map[string]string, names []string) *partitioner {
	p := &partitioner{byKey: make(map[string]int32)}
	for _, name := range names {
		f, _ := schema.Field(name)
		p.columns = append(p.columns, f)
		p.stored = append(p.stored, stored[name])
	}
	return p
}

// adopt takes over a group of an earlier version.
func (p *partitioner) adopt(g group) int32 {
	if n, ok := p.byKey[g.key]; ok {
		return n
	}
	n := int32(len(p.groups))
	p.groups, p.byKey[g.key] = append(p.groups, g), n
	return n
}

// group returns the group of a file. It is false when a value is missing or is
// not one of its column's type.
func (p *partitioner) group(f delta.File) (int32, bool) {
	given := f.Add.PartitionValues
	if len(given) != len(p.columns) {
		return 0, false
	}
	p.key = p.key[:0]
	for i, c := range p.columns {
		v, ok := given[p.stored[i]]
		if !ok {
			return 0, false
		}
		// Writers print one value in several ways: the group is that of the value.
		text, err := delta.ParsePartitionValue(c.Type, v)
		if err != nil {
			return 0, false
		}
		if text == nil {
			p.key = append(p.key, '-')
			continue
		}
		p.key = append(strconv.AppendInt(p.key, int64(len(*text)), 10), ':')
		p.key = append(p.key, *text...)
	}
	if n, ok := p.byKey[string(p.key)]; ok {
		return n, true
	}
	g, ok := p.decode(f)
	if !ok {
		return 0, false
	}
	return p.adopt(g), true
}

func (p *partitioner) decode(f delta.File) (group, bool) {
	g := group{key: string(p.key)}
	for i, c := range p.columns {
		text, err := delta.ParsePartitionValue(c.Type, f.Add.PartitionValues[p.stored[i]])
		if err != nil {
			return g, false
		}
		if g.values == nil {
			g.values = make(map[string]*string, len(p.columns))
		}
		g.values[c.Name] = text
		if text == nil {
			g.spans = append(g.spans, span{known: onlyNulls})
			continue
		}
		v, ok := parseExact(c.Type, *text)
		if !ok {
			return g, false
		}
		g.spans = append(g.spans, point(v))
	}
	return g, true
}
