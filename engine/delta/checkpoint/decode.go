package checkpoint

import (
	"math"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// decoders turn row i of an action's column into the action.
var decoders = map[string]func(row, int) (action.Action, error){
	"add":                decodeAdd,
	"remove":             decodeRemove,
	"metaData":           decodeMetadata,
	"protocol":           decodeProtocol,
	"txn":                decodeTxn,
	"domainMetadata":     decodeDomain,
	"sidecar":            decodeSidecar,
	"checkpointMetadata": decodeCheckpointMetadata,
}

func decodeAdd(r row, i int) (action.Action, error) {
	var err error
	a := &action.Add{
		Path:                    r.text("path", i, &err),
		PartitionValues:         r.mapping("partitionValues", i, &err),
		Size:                    r.integerOr("size", i, math.MinInt64, &err),
		ModificationTime:        r.integerOr("modificationTime", i, 0, &err),
		DataChange:              r.boolean("dataChange", i, false, &err),
		Stats:                   r.text("stats", i, &err),
		Tags:                    r.mapping("tags", i, &err),
		DeletionVector:          r.vector(i, &err),
		BaseRowID:               r.integer("baseRowId", i, &err),
		DefaultRowCommitVersion: r.integer("defaultRowCommitVersion", i, &err),
		ClusteringProvider:      r.text("clusteringProvider", i, &err),
	}
	if a.Stats == "" && err == nil {
		a.Stats, err = r.parsedStats(i)
	}
	return a, err
}

func decodeRemove(r row, i int) (action.Action, error) {
	var err error
	a := &action.Remove{
		Path:                    r.text("path", i, &err),
		DeletionTimestamp:       r.integerOr("deletionTimestamp", i, 0, &err),
		DataChange:              r.boolean("dataChange", i, true, &err),
		ExtendedFileMetadata:    r.boolean("extendedFileMetadata", i, false, &err),
		PartitionValues:         r.mapping("partitionValues", i, &err),
		Size:                    r.integer("size", i, &err),
		DeletionVector:          r.vector(i, &err),
		BaseRowID:               r.integer("baseRowId", i, &err),
		DefaultRowCommitVersion: r.integer("defaultRowCommitVersion", i, &err),
	}
	return a, err
}

func (r row) vector(i int, err *error) *action.DeletionVector {
	g, ok := r.group("deletionVector", i, err)
	if !ok {
		return nil
	}
	d := &action.DeletionVector{
		StorageType:    g.text("storageType", i, err),
		PathOrInlineDV: g.text("pathOrInlineDv", i, err),
		SizeInBytes:    int32(g.integerOr("sizeInBytes", i, 0, err)),
		Cardinality:    g.integerOr("cardinality", i, 0, err),
	}
	if offset := g.integer("offset", i, err); offset != nil {
		o := int32(*offset)
		d.Offset = &o
	}
	return d
}

func decodeMetadata(r row, i int) (action.Action, error) {
	var err error
	m := &action.Metadata{
		ID:               r.text("id", i, &err),
		Name:             r.text("name", i, &err),
		Description:      r.text("description", i, &err),
		SchemaString:     r.text("schemaString", i, &err),
		PartitionColumns: r.list("partitionColumns", i, &err),
		Configuration:    r.texts("configuration", i, &err),
		CreatedTime:      r.integerOr("createdTime", i, 0, &err),
	}
	if f, ok := r.group("format", i, &err); ok {
		m.Format = action.Format{
			Provider: f.text("provider", i, &err),
			Options:  f.texts("options", i, &err),
		}
	}
	return m, err
}

func decodeProtocol(r row, i int) (action.Action, error) {
	var err error
	p := &action.Protocol{
		MinReaderVersion: int(r.integerOr("minReaderVersion", i, 0, &err)),
		MinWriterVersion: int(r.integerOr("minWriterVersion", i, 0, &err)),
		ReaderFeatures:   r.list("readerFeatures", i, &err),
		WriterFeatures:   r.list("writerFeatures", i, &err),
	}
	// Some writers fill the lists of versions that have none.
	if p.MinReaderVersion < 3 && len(p.ReaderFeatures) == 0 {
		p.ReaderFeatures = nil
	}
	if p.MinWriterVersion < 7 && len(p.WriterFeatures) == 0 {
		p.WriterFeatures = nil
	}
	return p, err
}

func decodeTxn(r row, i int) (action.Action, error) {
	var err error
	return &action.Txn{
		AppID:       r.text("appId", i, &err),
		Version:     r.integerOr("version", i, math.MinInt64, &err),
		LastUpdated: r.integerOr("lastUpdated", i, 0, &err),
	}, err
}

func decodeDomain(r row, i int) (action.Action, error) {
	var err error
	return &action.DomainMetadata{
		Domain:        r.text("domain", i, &err),
		Configuration: r.text("configuration", i, &err),
		Removed:       r.boolean("removed", i, false, &err),
	}, err
}

func decodeSidecar(r row, i int) (action.Action, error) {
	var err error
	return &action.Sidecar{
		Path:             r.text("path", i, &err),
		SizeInBytes:      r.integerOr("sizeInBytes", i, 0, &err),
		ModificationTime: r.integerOr("modificationTime", i, 0, &err),
		Tags:             r.mapping("tags", i, &err),
	}, err
}

func decodeCheckpointMetadata(r row, i int) (action.Action, error) {
	var err error
	return &action.CheckpointMetadata{
		Version: r.integerOr("version", i, 0, &err),
		Tags:    r.mapping("tags", i, &err),
	}, err
}
