package maintenance

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// bin holds files of one partition that are replaced together.
type bin struct {
	// values are the partition's values by column name.
	values map[string]*string
	key    string
	files  []delta.File
	bytes  int64
}

// layout describes the files that an optimize writes.
type layout struct {
	targetBytes int64
	// zOrder are the columns of the Z-order curve by their names in files.
	zOrder []string
}

// tag returns the layout as the tag of a file records it.
func (l layout) tag() string {
	mark := strconv.FormatInt(l.targetBytes, 10)
	for _, column := range l.zOrder {
		mark += " " + strconv.Quote(column)
	}
	return mark
}

// plan puts the files worth rewriting into bins, partition by partition and in the
// order in which they were written, so that rows written together stay together. It
// leaves out files that skip reports true for.
func (l layout) plan(snap *delta.Snapshot, partition func(map[string]*string) bool, skip func(delta.File) bool) []bin {
	var order []string
	parts := map[string]*bin{}
	for f := range snap.Files() {
		values := snap.PartitionValues(f)
		key := partitionKey(snap.PartitionColumns(), values)
		part, ok := parts[key]
		if !ok {
			part = &bin{values: values, key: key}
			if partition != nil && !partition(values) {
				part = nil
			}
			parts[key], order = part, append(order, key)
		}
		if part != nil && !skip(f) {
			part.files = append(part.files, f)
		}
	}
	var bins []bin
	for _, key := range order {
		if part := parts[key]; part != nil {
			bins = append(bins, l.binPack(*part)...)
		}
	}
	return bins
}

// partitionKey returns a string that identifies a partition.
func partitionKey(columns []string, values map[string]*string) string {
	var key strings.Builder
	for _, column := range columns {
		if v := values[column]; v != nil && *v != "" {
			key.WriteString(strconv.Quote(*v))
		}
		key.WriteByte(',')
	}
	return key.String()
}

// binPack divides the files of one partition into bins.
func (l layout) binPack(part bin) []bin {
	if len(l.zOrder) > 0 {
		if l.matchesAll(part.files) {
			return nil
		}
		for _, f := range part.files {
			part.bytes += f.Add.Size
		}
		return []bin{part}
	}
	slices.SortStableFunc(part.files, func(a, b delta.File) int { return int(a.Add.ModificationTime - b.Add.ModificationTime) })
	var bins []bin
	next := bin{values: part.values, key: part.key}
	flush := func() {
		if next.worthRewriting(l) {
			bins = append(bins, next)
		}
		next = bin{values: part.values, key: part.key}
	}
	for _, f := range part.files {
		if f.Add.Size >= l.targetBytes && !hidesRows(f) {
			continue
		}
		if next.bytes+f.Add.Size > l.targetBytes {
			flush()
		}
		next.files, next.bytes = append(next.files, f), next.bytes+f.Add.Size
	}
	flush()
	return bins
}

// worthRewriting reports whether rewriting the files of a bin improves the layout.
func (b *bin) worthRewriting(l layout) bool {
	return len(b.files) > 1 && !l.matchesAll(b.files) || slices.ContainsFunc(b.files, hidesRows)
}

// matchesAll reports whether all files already have this layout.
func (l layout) matchesAll(files []delta.File) bool {
	mark := l.tag()
	return !slices.ContainsFunc(files, func(f delta.File) bool {
		made := f.Add.Tags[datafile.LayoutTag]
		return made == nil || *made != mark || f.Add.DeletionVector != nil
	})
}

// hidesRows reports whether a file has a deletion vector. Rewriting the file
// removes the rows it marks.
func hidesRows(f delta.File) bool { return f.Add.DeletionVector != nil }
