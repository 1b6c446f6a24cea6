package delta

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// PartitionFault is a class of faults of partition values.
type PartitionFault int

const (
	// PartitionWrongType: the value cannot be cast to the column's type.
	PartitionWrongType PartitionFault = iota
	// PartitionWrongName: in a table with column mapping, the value is stored under the
	// column's logical name instead of its physical name.
	PartitionWrongName
)

// PartitionError reports that a file has a partition value that cannot be read. It
// matches [ErrPartitionValue] and does not hold the value.
type PartitionError struct {
	Fault PartitionFault
	// Column is empty if it must not be named.
	Column string
	// Type is the column's type, or nil if it must not be named.
	Type DataType
}

// Reason completes the sentence "a file has a partition value that …".
func (e *PartitionError) Reason() string {
	switch {
	case e.Fault == PartitionWrongName:
		return "is not stored under its column's physical name"
	case e.Type == nil:
		return "is not of its column's type"
	}
	return fmt.Sprintf("is not of type %s", e.Type)
}

// Unnamed returns the error without the column.
func (e *PartitionError) Unnamed() *PartitionError { return &PartitionError{Fault: e.Fault} }

func (e *PartitionError) Error() string {
	return fmt.Sprintf("partition column %.60q: a file has a value that %s: %v", e.Column, e.Reason(), ErrPartitionValue)
}

// Is matches [ErrPartitionValue].
func (e *PartitionError) Is(target error) bool { return target == ErrPartitionValue }

// PartitionReader reads the partition values of a snapshot's files. It is not safe for
// concurrent use.
type PartitionReader struct {
	columns []Field
	// stored holds the names of the columns in the log.
	stored []string
	// parsed caches parsed values by column and text, because many files share one.
	parsed []map[string]parsedValue
}

// parsedValue is the result of parsing one text.
type parsedValue struct {
	value     *string
	scannable bool
}

// maxParsed bounds the cached values of a column.
const maxParsed = 4096

// PartitionReader returns a reader for the table's partition columns.
func (s *Snapshot) PartitionReader() *PartitionReader {
	r := &PartitionReader{}
	naming := fileNaming(s.Properties())
	for _, name := range s.PartitionColumns() {
		f, _ := s.schema.Field(name)
		r.columns, r.stored, r.parsed = append(r.columns, f), append(r.stored, naming(f)), append(r.parsed, map[string]parsedValue{})
	}
	return r
}

// Columns returns the partition columns, in order.
func (r *PartitionReader) Columns() []Field { return r.columns }

// Supported reports whether [PartitionReader.Read] supports the types of all columns.
func (r *PartitionReader) Supported() bool {
	return !slices.ContainsFunc(r.columns, func(f Field) bool { return !readsPartition(f.Type) })
}

// Read appends the file's values to out, in the order of the columns and in the form of
// [ParsePartitionValue]. A missing value is NULL, and values of other columns are
// ignored. scannable reports whether DuckDB's extension reads the same values. The
// error is a [PartitionError].
func (r *PartitionReader) Read(f File, out []*string) (values []*string, scannable bool, err error) {
	given := f.Add.PartitionValues
	scannable = len(given) == len(r.columns)
	for i, c := range r.columns {
		text, ok := given[r.stored[i]]
		if !ok {
			if _, misnamed := given[c.Name]; misnamed {
				return nil, false, &PartitionError{Fault: PartitionWrongName, Column: c.Name, Type: c.Type}
			}
			scannable = false
		}
		if text == nil {
			out = append(out, nil)
			continue
		}
		got, known := r.parsed[i][*text]
		if !known {
			value, err := ParsePartitionValue(c.Type, text)
			if err != nil {
				return nil, false, &PartitionError{Fault: PartitionWrongType, Column: c.Name, Type: c.Type}
			}
			got = parsedValue{value, value == nil || scansValue(c.Type, *text, *value)}
			r.remember(i, *text, got)
		}
		scannable = scannable && got.scannable
		out = append(out, got.value)
	}
	return out, scannable, nil
}

func (r *PartitionReader) remember(column int, text string, value parsedValue) {
	if len(r.parsed[column]) == maxParsed {
		clear(r.parsed[column])
	}
	r.parsed[column][text] = value
}

// The forms of values that DuckDB's extension reads correctly.
var (
	scannedFloat = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	scannedDate  = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	scannedLocal = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$`)
	scannedUTC   = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$`)
)

// scansValue reports whether DuckDB's extension reads text as value. The extension
// refuses many forms that Spark reads, and ignores offsets of timestamps.
func scansValue(t DataType, text, value string) bool {
	switch t {
	case String, Binary:
		return true
	case Boolean:
		return strings.EqualFold(text, value)
	case Float, Double:
		return text == value || scannedFloat.MatchString(text)
	case Date:
		return scannedDate.MatchString(text)
	case TimestampNTZ:
		return scannedLocal.MatchString(text)
	case Timestamp:
		return scannedLocal.MatchString(text) || scannedUTC.MatchString(text)
	}
	return text == value
}

// CheckListable returns a [FeatureError] if the table cannot be read as a list of
// Parquet files with given physical names or field ids and partition values. It checks
// the schema, not the files.
func CheckListable(s *Snapshot) error {
	if err := s.checkReader(); err != nil {
		return err
	}
	if !s.FoundByName() && s.ColumnIDs() == nil {
		return &FeatureError{Feature: featMapping, Reason: "columns without field ids"}
	}
	for _, f := range s.PartitionReader().columns {
		if !readsPartition(f.Type) {
			return partitionTypeError(f)
		}
	}
	if !slices.ContainsFunc(s.schema.Fields, s.InFiles) {
		return &FeatureError{Feature: featOnlyPartitions, Reason: "files hold no column"}
	}
	return nil
}

// partitionTypeError returns the error for a partition column of an unsupported type.
func partitionTypeError(f Field) error {
	return &FeatureError{Feature: featPartitionType, Reason: "column " + f.Name + " of type " + f.Type.String()}
}

// checkResult refuses a version with the given files that can be read neither as a list
// of these files nor through DuckDB's extension. Its error is a [FeatureError] or a
// [PartitionError].
func (s *Snapshot) checkResult(files iter.Seq[File]) error {
	if err := s.checkReader(); err != nil {
		return err
	}
	listable, scannable := CheckListable(s), CheckScannable(s)
	if listable != nil && scannable != nil {
		return listable
	}
	if len(s.PartitionColumns()) == 0 {
		return nil
	}
	r := s.PartitionReader()
	var values []*string
	for f := range files {
		var scans bool
		var err error
		if values, scans, err = r.Read(f, values[:0]); err != nil {
			return err
		}
		if !scans && listable != nil {
			return listable
		}
	}
	return nil
}
