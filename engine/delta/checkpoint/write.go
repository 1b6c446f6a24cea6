package checkpoint

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// Summary counts what [Write] wrote.
type Summary struct {
	Actions, AddFiles int64
	// UntypedStatistics counts files whose statistics the typed form cannot represent
	// completely, and UntypedPartitions those with a partition value that is invalid
	// for its column's type.
	UntypedStatistics, UntypedPartitions int64
}

var (
	textType  = arrow.BinaryTypes.String
	longType  = arrow.PrimitiveTypes.Int64
	mapType   = arrow.MapOf(textType, textType)
	listType  = arrow.ListOf(textType)
	boolType  = arrow.FixedWidthTypes.Boolean
	shortType = arrow.PrimitiveTypes.Int32
)

func field(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

var vectorType = arrow.StructOf(
	field("storageType", textType), field("pathOrInlineDv", textType),
	field("offset", shortType), field("sizeInBytes", shortType), field("cardinality", longType))

// commonAddFields are the members of add in every form.
var commonAddFields = []arrow.Field{
	field("path", textType), field("partitionValues", mapType), field("size", longType),
	field("modificationTime", longType), field("dataChange", boolType), field("tags", mapType),
	field("deletionVector", vectorType), field("baseRowId", longType),
	field("defaultRowCommitVersion", longType), field("clusteringProvider", textType),
}

// schemaOf returns the schema of a checkpoint (protocol, "Checkpoint Schema"). Every
// leaf is nullable, as in checkpoints of the reference writer.
func schemaOf(form Form) *arrow.Schema {
	add := arrow.StructOf(slices.Concat(commonAddFields, form.addFields())...)
	return arrow.NewSchema([]arrow.Field{txnField, field("add", add), removeField, metadataField, protocolField, domainField}, nil)
}

var (
	txnField = field("txn", arrow.StructOf(
		field("appId", textType), field("version", longType), field("lastUpdated", longType)))
	removeField = field("remove", arrow.StructOf(
		field("path", textType), field("deletionTimestamp", longType), field("dataChange", boolType),
		field("extendedFileMetadata", boolType), field("partitionValues", mapType), field("size", longType),
		field("deletionVector", vectorType), field("baseRowId", longType),
		field("defaultRowCommitVersion", longType)))
	metadataField = field("metaData", arrow.StructOf(
		field("id", textType), field("name", textType), field("description", textType),
		field("format", arrow.StructOf(field("provider", textType), field("options", mapType))),
		field("schemaString", textType), field("partitionColumns", listType),
		field("configuration", mapType), field("createdTime", longType)))
	protocolField = field("protocol", arrow.StructOf(
		field("minReaderVersion", shortType), field("minWriterVersion", shortType),
		field("readerFeatures", listType), field("writerFeatures", listType)))
	domainField = field("domainMetadata", arrow.StructOf(
		field("domain", textType), field("configuration", textType), field("removed", boolType)))
)

// Write writes a classic checkpoint. The caller selects the actions by the rules of
// action reconciliation. An action that does not belong in a checkpoint is an error.
func Write(w io.Writer, form Form, actions iter.Seq[action.Action]) (Summary, error) {
	schema, types := schemaOf(form), newTypedEncoder(form)
	props := parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithRootName("spark_schema"),
		// Paths are unique, so a dictionary would only cost space.
		parquet.WithDictionaryFor("add.path", false),
		parquet.WithDictionaryFor("add.stats", false),
		parquet.WithDictionaryFor("remove.path", false),
		parquet.WithStats(false),
	)
	fw, err := pqarrow.NewFileWriter(schema, keepOpen{w}, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return Summary{}, fmt.Errorf("opening checkpoint writer: %w", err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var sum Summary
	flush := func() error {
		rec := b.NewRecordBatch()
		defer rec.Release()
		return fw.WriteBuffered(rec)
	}
	for a := range actions {
		if err := appendAction(b, a, types); err != nil {
			_ = fw.Close()
			return Summary{}, err
		}
		sum.Actions++
		if _, ok := a.(*action.Add); ok {
			sum.AddFiles++
		}
		if sum.Actions%batchRows == 0 {
			if err := flush(); err != nil {
				_ = fw.Close()
				return Summary{}, fmt.Errorf("writing checkpoint: %w", err)
			}
		}
	}
	if sum.Actions%batchRows != 0 {
		if err := flush(); err != nil {
			_ = fw.Close()
			return Summary{}, fmt.Errorf("writing checkpoint: %w", err)
		}
	}
	if err := fw.Close(); err != nil {
		return Summary{}, fmt.Errorf("closing checkpoint: %w", err)
	}
	sum.UntypedStatistics, sum.UntypedPartitions = types.statistics, types.partitions
	return sum, nil
}

// keepOpen hides the Close method of a writer, because the caller closes it.
type keepOpen struct{ io.Writer }
