package delta

import (
	"bytes"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
)

// Properties that say how checkpoints tell the statistics of files.
const (
	propStatsAsText   = "delta.checkpoint.writeStatsAsJson"
	propStatsAsStruct = "delta.checkpoint.writeStatsAsStruct"
)

// checkpointBody is the checkpoint in the form that the table asks for, or in one
// that says more: no statistics are lost because a typed form cannot hold them.
func (s *Snapshot) checkpointBody() ([]byte, checkpoint.Summary, error) {
	form := s.checkpointForm()
	for {
		var buf bytes.Buffer
		sum, err := checkpoint.Write(&buf, form, s.checkpointActions())
		switch {
		case err == nil && form.NoText && sum.UntypedStatistics > 0:
			form.NoText = false
		case err == nil && sum.UntypedPartitions > 0:
			// A reader would take the value for NULL and leave the file out.
			form.Partitions = nil
		default:
			return buf.Bytes(), sum, err
		}
	}
}

// checkpointForm is how the table wants to have statistics in checkpoints
// (protocol, "Checkpoints"). The text goes only where the struct comes: the
// reference writer has the struct unless it is refused, and a table that refuses
// both would forget how many rows its files have.
func (s *Snapshot) checkpointForm() checkpoint.Form {
	says := func(name, value string) bool { return strings.EqualFold(s.Properties()[name], value) }
	noText := says(propStatsAsText, "false") && !says(propStatsAsStruct, "false")
	if !noText && !says(propStatsAsStruct, "true") {
		return checkpoint.Form{}
	}
	return checkpoint.Form{NoText: noText, Statistics: s.statisticsColumns(), Partitions: s.typedPartitions()}
}

// statisticsColumns are the columns that get statistics in new files. They are
// never nil: how many rows a file has is known of every table.
func (s *Snapshot) statisticsColumns() []checkpoint.Column {
	clustered, err := s.clusteredBy()
	if err != nil {
		clustered = nil // nobody adds files to such a table
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

// typedPartitions is nil without partition columns.
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

// arrowTypes are the types whose values a checkpoint can hold by themselves.
var arrowTypes = map[DataType]arrow.DataType{
	Byte: arrow.PrimitiveTypes.Int8, Short: arrow.PrimitiveTypes.Int16,
	Integer: arrow.PrimitiveTypes.Int32, Long: arrow.PrimitiveTypes.Int64,
	Float: arrow.PrimitiveTypes.Float32, Double: arrow.PrimitiveTypes.Float64,
	Boolean: arrow.FixedWidthTypes.Boolean, String: arrow.BinaryTypes.String, Binary: arrow.BinaryTypes.Binary,
	Date: arrow.FixedWidthTypes.Date32, Timestamp: arrow.FixedWidthTypes.Timestamp_us,
	TimestampNTZ: &arrow.TimestampType{Unit: arrow.Microsecond},
}

// arrowType is nil for other types.
func arrowType(t DataType) arrow.DataType {
	switch t := t.(type) {
	case Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case Primitive:
		return arrowTypes[t]
	}
	return nil
}
