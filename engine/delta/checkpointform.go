package delta

import (
	"bytes"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
)

// Properties that select the form of statistics in checkpoints.
const (
	propStatsAsText   = "delta.checkpoint.writeStatsAsJson"
	propStatsAsStruct = "delta.checkpoint.writeStatsAsStruct"
)

// checkpointBody returns the checkpoint in the form that the table's properties select.
// If the typed form cannot represent all statistics, their JSON is written too.
func (s *Snapshot) checkpointBody() ([]byte, checkpoint.Summary, error) {
	form := s.checkpointForm()
	for {
		var buf bytes.Buffer
		sum, err := checkpoint.Write(&buf, form, s.checkpointActions())
		switch {
		case err == nil && form.NoText && sum.UntypedStatistics > 0:
			form.NoText = false
		case err == nil && sum.UntypedPartitions > 0:
			// A reader would read the value as NULL and prune the file.
			form.Partitions = nil
		default:
			return buf.Bytes(), sum, err
		}
	}
}

// checkpointForm returns the form of statistics that the table's properties select
// (protocol, "Checkpoints"). The JSON is omitted only if the struct is written: a table
// that disables both would lose the row counts of its files. Like the reference writer,
// it writes the struct unless that is disabled.
func (s *Snapshot) checkpointForm() checkpoint.Form {
	says := func(name, value string) bool { return strings.EqualFold(s.Properties()[name], value) }
	noText := says(propStatsAsText, "false") && !says(propStatsAsStruct, "false")
	if !noText && !says(propStatsAsStruct, "true") {
		return checkpoint.Form{}
	}
	return checkpoint.Form{NoText: noText, Statistics: s.statisticsColumns(), Partitions: s.typedPartitions()}
}

// statisticsColumns returns the columns that have statistics in new files. It never
// returns nil, because the number of records is always recorded.
func (s *Snapshot) statisticsColumns() []checkpoint.Column {
	clustered, err := s.clusteredBy()
	if err != nil {
		clustered = nil // EncodeStats refuses to add files to such a table
	}
	naming, wanted, leaves := fileNaming(s.Properties()), indexedColumns(s.Properties(), clustered), 0
	var columns func(st Struct, path, filePath []string) []checkpoint.Column
	columns = func(st Struct, path, filePath []string) []checkpoint.Column {
		list := []checkpoint.Column{}
		for _, f := range st.Fields {
			at, fileAt := append(slices.Clone(path), f.Name), append(slices.Clone(filePath), naming(f))
			if len(path) == 0 && slices.Contains(s.PartitionColumns(), f.Name) {
				continue
			}
			if inner, ok := f.Type.(Struct); ok {
				if members := columns(inner, at, fileAt); len(members) > 0 {
					list = append(list, checkpoint.Column{Name: naming(f), Members: members})
				}
				continue
			}
			if leaves++; wanted(leaves-1, at, fileAt) {
				c := checkpoint.Column{Name: naming(f)}
				if f.Type != Binary {
					c.Type = arrowType(f.Type)
				}
				list = append(list, c)
			}
		}
		return list
	}
	return columns(s.schema, nil, nil)
}

// typedPartitions returns the partition columns, or nil if there are none.
func (s *Snapshot) typedPartitions() []checkpoint.Column {
	var list []checkpoint.Column
	for _, name := range s.PartitionColumns() {
		f, _ := s.schema.Field(name)
		t := arrowType(f.Type)
		if t == nil {
			return nil
		}
		list = append(list, checkpoint.Column{Name: fileNaming(s.Properties())(f), Type: t})
	}
	return list
}

// arrowTypes maps types to the Arrow types of their values in a checkpoint.
var arrowTypes = map[DataType]arrow.DataType{
	Byte: arrow.PrimitiveTypes.Int8, Short: arrow.PrimitiveTypes.Int16,
	Integer: arrow.PrimitiveTypes.Int32, Long: arrow.PrimitiveTypes.Int64,
	Float: arrow.PrimitiveTypes.Float32, Double: arrow.PrimitiveTypes.Float64,
	Boolean: arrow.FixedWidthTypes.Boolean, String: arrow.BinaryTypes.String, Binary: arrow.BinaryTypes.Binary,
	Date: arrow.FixedWidthTypes.Date32, Timestamp: arrow.FixedWidthTypes.Timestamp_us,
	TimestampNTZ: &arrow.TimestampType{Unit: arrow.Microsecond},
}

// arrowType returns nil for types without typed values.
func arrowType(t DataType) arrow.DataType {
	switch t := t.(type) {
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case Primitive:
		return arrowTypes[t]
	}
	return nil
}
