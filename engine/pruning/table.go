package pruning

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// Check returns an error for a table that can be read neither as a list of its files nor through
// its log: a [delta.FeatureError], a [delta.PartitionError] if a file has an invalid partition
// value, or that of [delta.Snapshot.Damage].
func Check(snap *delta.Snapshot) error {
	if len(snap.PartitionColumns()) == 0 && checkLog(snap) == nil {
		return nil
	}
	x := indexOf(snap)
	switch {
	case x.broken != nil:
		return x.broken
	case x.usable():
		return nil
	case x.unscannable != nil:
		return x.unscannable
	}
	return nil
}

// CheckRestricted is [Check] for a reader who sees only some rows of the table. It also refuses a
// table that [ListRestricted] does not list and that cannot be read through its log.
func CheckRestricted(snap *delta.Snapshot) error {
	x := indexOf(snap)
	if x.broken != nil {
		return x.broken
	}
	if x.unscannable == nil || ListsRestricted(snap) {
		return nil
	}
	return x.unscannable
}

// ReadsLog reports whether the engine can read the table through its log.
func ReadsLog(snap *delta.Snapshot) bool {
	x := indexOf(snap)
	return x.broken == nil && x.unscannable == nil
}

// ListsRestricted reports whether [ListRestricted] lists the table.
func ListsRestricted(snap *delta.Snapshot) bool {
	x := indexOf(snap)
	return x.usable() && (x.loaded() || !deletionVectors(snap))
}

// deletionVectors reports whether the protocol allows deletion vectors.
func deletionVectors(snap *delta.Snapshot) bool {
	return slices.Contains(snap.Protocol().ReaderFeatures, "deletionVectors")
}

// partsOf returns the parts of the table's columns if the schemas of files have to be read: for
// field ids of members, for structs that may have none of their current members in a file, and for
// values that files hold in another form.
func partsOf(snap *delta.Snapshot, byID bool) [][]engine.FieldID {
	fields := snap.Schema().Fields
	members := slices.ContainsFunc(fields, func(f delta.Field) bool { return hasMembers(f.Type) })
	if !(members && (byID || snap.MembersReplaced())) && !otherInFiles(snap.Schema()) {
		return nil
	}
	parts := make([][]engine.FieldID, len(fields))
	for _, c := range snap.FileColumns() {
		at := slices.IndexFunc(fields, func(f delta.Field) bool { return f.Name == c.Name })
		parts[at] = FieldIDs(c.Children)
	}
	return parts
}

// otherInFiles reports whether files hold values of a column in another form than statements see: a
// variant, or a struct, which lacks its void members in files.
func otherInFiles(schema delta.Struct) bool {
	return slices.ContainsFunc(schema.Fields, func(f delta.Field) bool {
		return delta.ContainsType(f.Type, delta.Variant) || f.Type != delta.Void && delta.ContainsType(f.Type, delta.Void)
	})
}

// FieldIDs returns the names and field ids of columns and of their nested fields in data files.
func FieldIDs(columns []delta.FileColumn) []engine.FieldID {
	var out []engine.FieldID
	for _, c := range columns {
		out = append(out, engine.FieldID{Column: c.FileName, ID: c.ID, Void: c.Void, Children: FieldIDs(c.Children)})
	}
	return out
}

// counted reports whether statistics count the NULLs that statements see. They do not for
// nested columns, for variants, whose JSON null is NULL in statements only, and for void
// columns, which files do not hold.
func counted(t delta.DataType) bool {
	switch t.(type) {
	case delta.Array, delta.Map, delta.Struct:
		return false
	}
	return t != delta.Variant && t != delta.Void
}

// hasMembers reports whether t is or contains a struct. That such a column exists in a file does
// not imply that its members do.
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

// listable reports whether every list can express the name. In local lists a name in which pattern
// characters must be escaped cannot contain a backslash. Snapshots never contain absolute names or
// names with a scheme.
func listable(name string) bool {
	return !strings.Contains(name, `\`) || !strings.ContainsAny(name, "*?[")
}

// group is the set of files with equal partition values.
type group struct {
	// key identifies the group.
	key string
	// values is engine.FileGroup.Partition; nil for a table without partitions.
	values map[string]*string
	// spans are the spans of the values, by the position of the partition column.
	spans []span
}

// partitioner assigns files to groups, numbered in order of appearance.
type partitioner struct {
	reader *delta.PartitionReader
	groups []group
	byKey  map[string]int32
	key    []byte
	values []*string
}

func newPartitioner(snap *delta.Snapshot) *partitioner {
	return &partitioner{byKey: make(map[string]int32), reader: snap.PartitionReader()}
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

// group returns the group of a file. The error is a [delta.PartitionError].
func (p *partitioner) group(f delta.File) (n int32, scannable bool, err error) {
	if p.values, scannable, err = p.reader.Read(f, p.values[:0]); err != nil {
		return 0, false, err
	}
	// Writers print one value in several ways, so the key consists of the parsed values.
	p.key = p.key[:0]
	for _, text := range p.values {
		if text == nil {
			p.key = append(p.key, '-')
			continue
		}
		p.key = append(strconv.AppendInt(p.key, int64(len(*text)), 10), ':')
		p.key = append(p.key, *text...)
	}
	if n, ok := p.byKey[string(p.key)]; ok {
		return n, scannable, nil
	}
	return p.adopt(p.decode()), scannable, nil
}

// decode returns a group with the values that were parsed last.
func (p *partitioner) decode() group {
	g := group{key: string(p.key)}
	for i, c := range p.reader.Columns() {
		if g.values == nil {
			g.values = make(map[string]*string, len(p.values))
		}
		text := p.values[i]
		g.values[c.Name] = text
		g.spans = append(g.spans, spanOf(c.Type, text))
	}
	return g
}

// spanOf returns the span of a partition value. Floats, binaries and times outside the years 1 to
// 9999 have no bounds.
func spanOf(t delta.DataType, text *string) span {
	if text == nil {
		return span{known: onlyNulls}
	}
	if v, ok := parseExact(t, *text); ok {
		return point(v)
	}
	return span{known: noNulls}
}
