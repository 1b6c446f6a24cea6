package maintenance

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine/datafile"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// bin are files of one partition that are replaced together.
type bin struct {
	// values are the partition's, by the names of the schema.
	values map[string]*string
	key    string
	files  []delta.File
	bytes  int64
}

// layout is what files are to become.
type layout struct {
	targetBytes int64
	// zOrder are columns by their names in files.
	zOrder []string
}

// mark is the layout as a tag says it.
func (l layout) mark() string {
	mark := strconv.FormatInt(l.targetBytes, 10)
	for _, column := range l.zOrder {
		mark += " " + strconv.Quote(column)
	}
	return mark
}

// plan puts the files that are worth another layout into bins, partition by
// partition, in the order in which they were written: rows that came together
// stay together. skip leaves files out.
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
			bins = append(bins, l.fill(*part)...)
		}
	}
	return bins
}

// partitionKey tells partitions apart.
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

// fill makes bins of one partition.
func (l layout) fill(part bin) []bin {
	if len(l.zOrder) > 0 {
		if l.done(part.files) {
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
		if next.worth(l) {
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

// worth reports whether other files would be better than these.
func (b *bin) worth(l layout) bool {
	return len(b.files) > 1 && !l.done(b.files) || slices.ContainsFunc(b.files, hidesRows)
}

// done reports that all files are what this layout makes.
func (l layout) done(files []delta.File) bool {
	mark := l.mark()
	return !slices.ContainsFunc(files, func(f delta.File) bool {
		made := f.Add.Tags[datafile.LayoutTag]
		return made == nil || *made != mark || f.Add.DeletionVector != nil
	})
}

// hidesRows reports whether a deletion vector hides rows of a file. Rewriting the file
// removes them.
func hidesRows(f delta.File) bool { return f.Add.DeletionVector != nil }
