package pruning

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
)

// maxCachedColumns bounds the number of columns whose spans are cached, each with about sixty bytes per
// file.
const maxCachedColumns = 16

// index is a snapshot prepared for pruning. Of the snapshot it refers only to the files, so that
// the next version can take over the parsed values.
type index struct {
	schema     delta.Struct
	partitions []string
	// stored maps the names of the columns to their names in files and in the log.
	stored map[string]string
	// mapped holds the columns with their names and types in files; nil if these are the
	// table's. The types differ if [otherInFiles] is true.
	mapped []engine.Column
	// ids are the field ids of the columns in files, or nil if files identify columns by name.
	ids []int
	// parts are the nested fields of columns. It is nil if the schemas of files need not be read:
	// members are found by name, and each file has some.
	parts [][]engine.FieldID
	// voids are the names of the void columns.
	voids []string
	// vectors reports that a file has a deletion vector.
	vectors bool
	// odd reports that a file has a name that some lists cannot express.
	odd bool
	// unscannable is the reason why the table cannot be read through its log, or nil.
	unscannable error
	// broken is the error of a partition value because of which the table cannot be read
	// at all, or nil.
	broken error
	// misread reports for each file whether the engine's reader of logs misreads one of
	// its partition values.
	misread []bool
	// shape identifies the columns: indexes of equal shape describe the same ones.
	shape string
	// listed reports whether the table can be read by a list. Otherwise it must be read through its
	// log, and the fields below are empty.
	listed bool
	whole  bool
	// widened names the columns whose files may hold narrower types.
	widened []string
	files   []delta.File
	// member is the group of each file.
	member []int32
	groups []group

	mu sync.Mutex
	// columns holds the spans of each file by column. The slices are not changed after they are
	// added.
	columns map[string]*column
	// proved reports for each file whether its statistics prove that it holds every column.
	proved []proof
	full   *engine.FileList
	// checked is the list of [CheckedFiles], nil until it is needed.
	checked *engine.FileList
	// deleted are the deleted rows by file. It is complete once vectorsRead is set.
	deleted     map[string][]byte
	vectorsRead bool
	reader      *statsReader
}

// column holds a column's spans. used reports that a condition needed it since this index was made;
// others are not passed on to the next version.
type column struct {
	spans []span
	used  bool
}

// indexOf returns the index of a snapshot, which is built on first use.
func indexOf(snap *delta.Snapshot) *index {
	return snap.Derived(func(before any) any {
		old, _ := before.(*index)
		return newIndex(snap, old)
	}).(*index)
}

func newIndex(snap *delta.Snapshot, old *index) *index {
	x := &index{
		schema: snap.Schema(), partitions: snap.PartitionColumns(), whole: snap.WholeFiles(),
		shape: snap.Metadata().SchemaString + "\x00" + strings.Join(snap.PartitionColumns(), "\x00") + "\x00" +
			strconv.FormatBool(snap.Mapped()),
		columns: make(map[string]*column), reader: newStatsReader(), stored: make(map[string]string),
		unscannable: checkLog(snap),
	}
	other := otherInFiles(x.schema)
	for i, f := range snap.StoredFields() {
		x.stored[x.schema.Fields[i].Name] = f.Name
		if f.Type == delta.Void {
			x.voids = append(x.voids, x.schema.Fields[i].Name)
		}
		if snap.Mapped() || other {
			x.mapped = append(x.mapped, engine.Column{Name: f.Name, Type: deltasql.FileType(f.Type), Nullable: true})
		}
	}
	if delta.CheckListable(snap) != nil {
		x.broken = checkPartitions(snap)
		return x
	}
	if !snap.FoundByName() {
		x.ids = snap.ColumnIDs()
	}
	x.parts = partsOf(snap, x.ids != nil)
	x.widened = snap.WidenedColumns()
	x.files = slices.AppendSeq(make([]delta.File, 0, snap.NumFiles()), snap.Files())
	if old != nil && (!old.listed || old.shape != x.shape) {
		old = nil
	}
	from := x.origins(old)
	x.member = make([]int32, len(x.files))
	x.proved = make([]proof, len(x.files))
	x.misread = make([]bool, len(x.files))
	if x.broken = x.place(newPartitioner(snap), old, from); x.broken != nil {
		return &index{broken: x.broken}
	}
	x.listed = true
	if old != nil {
		x.inherit(old, from)
	}
	return x
}

// origins returns the position of each file in the previous index, or -1. Both are ordered by name.
func (x *index) origins(old *index) []int32 {
	from := make([]int32, len(x.files))
	j := 0
	for i, f := range x.files {
		from[i] = -1
		if old == nil {
			continue
		}
		for j < len(old.files) && old.files[j].Name < f.Name {
			j++
		}
		if j < len(old.files) && old.files[j].Add == f.Add {
			from[i] = int32(j)
		}
	}
	return from
}

// place checks every new file and assigns it to its group. The error is a [delta.PartitionError].
func (x *index) place(p *partitioner, old *index, from []int32) error {
	moved := make(map[int32]int32)
	for i, f := range x.files {
		x.vectors = x.vectors || f.Add.DeletionVector != nil
		x.odd = x.odd || !listable(f.Name)
		if from[i] >= 0 {
			was := old.member[from[i]]
			to, ok := moved[was]
			if !ok {
				to = p.adopt(old.groups[was])
				moved[was] = to
			}
			x.member[i], x.misread[i] = to, old.misread[from[i]]
			continue
		}
		to, scannable, err := p.group(f)
		if err != nil {
			return err
		}
		x.member[i], x.misread[i] = to, !scannable
	}
	if x.unscannable == nil && slices.Contains(x.misread, true) {
		x.unscannable = errMisread
	}
	x.groups = p.groups
	return nil
}

// inherit takes over the parsed values of files that old contains as well.
func (x *index) inherit(old *index, from []int32) {
	old.mu.Lock()
	defer old.mu.Unlock()
	var fresh []int
	for i, j := range from {
		if j < 0 {
			fresh = append(fresh, i)
			continue
		}
		x.proved[i] = old.proved[j]
		if rows := old.deleted[x.files[i].Name]; rows != nil {
			if x.deleted == nil {
				x.deleted = make(map[string][]byte)
			}
			x.deleted[x.files[i].Name] = rows
		}
	}
	var names []string
	for name, c := range old.columns {
		if !c.used {
			continue
		}
		spans := make([]span, len(x.files))
		for i, j := range from {
			if j >= 0 {
				spans[i] = c.spans[j]
			}
		}
		x.columns[name] = &column{spans: spans}
		names = append(names, name)
	}
	x.parse(names, slices.Values(fresh))
}

// spansOf returns the spans of columns, and parses those that are missing.
func (x *index) spansOf(names []string) map[string][]span {
	x.mu.Lock()
	defer x.mu.Unlock()
	var missing []string
	for _, name := range names {
		if x.columns[name] == nil {
			x.columns[name] = &column{spans: make([]span, len(x.files))}
			missing = append(missing, name)
		}
		x.columns[name].used = true
	}
	x.parse(missing, indices(x.files))
	out := make(map[string][]span, len(names))
	for _, name := range names {
		out[name] = x.columns[name].spans
	}
	x.evict(names)
	return out
}

// evict removes columns beyond the bound, those of this request last.
func (x *index) evict(asked []string) {
	for _, name := range slices.Collect(maps.Keys(x.columns)) {
		if len(x.columns) > maxCachedColumns && !slices.Contains(asked, name) {
			delete(x.columns, name)
		}
	}
	for name := range x.columns {
		if len(x.columns) > maxCachedColumns {
			delete(x.columns, name)
		}
	}
}
