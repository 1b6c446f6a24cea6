package checkpoint

import (
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Indexes of the actions in schemaOf.
const (
	columnTxn = iota
	columnAdd
	columnRemove
	columnMetadata
	columnProtocol
	columnDomain
	columnCount
)

func appendAction(b *array.RecordBuilder, a action.Action, types *typedEncoder) error {
	var column int
	var values []any
	switch a := a.(type) {
	case *action.Txn:
		column, values = columnTxn, []any{a.AppID, a.Version, a.LastUpdated}
	case *action.Add:
		column, values = columnAdd, append([]any{
			a.Path, orEmpty(a.PartitionValues), a.Size, a.ModificationTime, false, a.Tags,
			vectorValues(a.DeletionVector), a.BaseRowID, a.DefaultRowCommitVersion,
			orNull(a.ClusteringProvider),
		}, types.addValues(a)...)
	case *action.Remove:
		column, values = columnRemove, []any{
			a.Path, a.DeletionTimestamp, false, a.ExtendedFileMetadata, a.PartitionValues,
			a.Size, vectorValues(a.DeletionVector), a.BaseRowID, a.DefaultRowCommitVersion,
		}
	case *action.Metadata:
		format := []any{a.Format.Provider, plain(a.Format.Options)}
		column, values = columnMetadata, []any{
			a.ID, a.Name, a.Description, format, a.SchemaString,
			nonNil(a.PartitionColumns), plain(a.Configuration), a.CreatedTime,
		}
	case *action.Protocol:
		column, values = columnProtocol, []any{
			int32(a.MinReaderVersion), int32(a.MinWriterVersion), a.ReaderFeatures, a.WriterFeatures,
		}
	case *action.DomainMetadata:
		column, values = columnDomain, []any{a.Domain, a.Configuration, a.Removed}
	default:
		return fmt.Errorf("checkpoint of a %T", a)
	}
	for i := range columnCount {
		if i != column {
			b.Field(i).AppendNull()
			continue
		}
		if err := appendValue(b.Field(i), values); err != nil {
			return err
		}
	}
	return nil
}

// appendValue appends a value of one of the types that appendAction uses.
func appendValue(b array.Builder, v any) error {
	switch v := v.(type) {
	case nil:
		b.AppendNull()
	case string:
		b.(*array.StringBuilder).Append(v)
	case int64:
		b.(*array.Int64Builder).Append(v)
	case int32:
		b.(*array.Int32Builder).Append(v)
	case bool:
		b.(*array.BooleanBuilder).Append(v)
	case *int64:
		return appendPointer(b, v)
	case *bool:
		return appendPointer(b, v)
	case *string:
		return appendPointer(b, v)
	case []string:
		appendList(b.(*array.ListBuilder), v)
	case map[string]*string:
		appendMap(b.(*array.MapBuilder), v)
	case []any:
		if v == nil {
			b.AppendNull()
			break
		}
		s := b.(*array.StructBuilder)
		s.Append(true)
		for i, member := range v {
			if err := appendValue(s.FieldBuilder(i), member); err != nil {
				return err
			}
		}
	default:
		return appendTyped(b, v)
	}
	return nil
}

func appendPointer[T any](b array.Builder, v *T) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	return appendValue(b, *v)
}

// appendTyped appends a value of one of the types that parse returns and appendValue
// does not handle.
func appendTyped(b array.Builder, v any) error {
	switch v := v.(type) {
	case int8:
		b.(*array.Int8Builder).Append(v)
	case int16:
		b.(*array.Int16Builder).Append(v)
	case float32:
		b.(*array.Float32Builder).Append(v)
	case float64:
		b.(*array.Float64Builder).Append(v)
	case []byte:
		b.(*array.BinaryBuilder).Append(v)
	case decimal128.Num:
		b.(*array.Decimal128Builder).Append(v)
	case arrow.Date32:
		b.(*array.Date32Builder).Append(v)
	case arrow.Timestamp:
		b.(*array.TimestampBuilder).Append(v)
	default:
		return fmt.Errorf("checkpoint value of type %T", v)
	}
	return nil
}

func appendList(b *array.ListBuilder, v []string) {
	if v == nil {
		b.AppendNull()
		return
	}
	b.Append(true)
	for _, s := range v {
		b.ValueBuilder().(*array.StringBuilder).Append(s)
	}
}

// appendMap appends the entries in the order of their keys, so that equal tables have
// equal checkpoints.
func appendMap(b *array.MapBuilder, v map[string]*string) {
	if v == nil {
		b.AppendNull()
		return
	}
	b.Append(true)
	for _, key := range slices.Sorted(maps.Keys(v)) {
		b.KeyBuilder().(*array.StringBuilder).Append(key)
		if value := v[key]; value != nil {
			b.ItemBuilder().(*array.StringBuilder).Append(*value)
		} else {
			b.ItemBuilder().AppendNull()
		}
	}
}

func vectorValues(d *action.DeletionVector) []any {
	if d == nil {
		return nil
	}
	var offset any
	if d.Offset != nil {
		offset = *d.Offset
	}
	return []any{d.StorageType, d.PathOrInlineDV, offset, d.SizeInBytes, d.Cardinality}
}

// orNull returns text, or nil if text is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func orEmpty(m map[string]*string) map[string]*string {
	if m == nil {
		return map[string]*string{}
	}
	return m
}

func plain(m map[string]string) map[string]*string {
	out := make(map[string]*string, len(m))
	for k, v := range m {
		out[k] = &v
	}
	return out
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
