package checkpoint

import (
	"math"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// decoders turn the current row of an action's column into the action.
var decoders = map[string]func(*row) (action.Action, error){
	"add":                decodeAdd,
	"remove":             decodeRemove,
	"metaData":           decodeMetadata,
	"protocol":           decodeProtocol,
	"txn":                decodeTxn,
	"domainMetadata":     decodeDomain,
	"sidecar":            decodeSidecar,
	"checkpointMetadata": decodeCheckpointMetadata,
}

func decodeAdd(r *row) (action.Action, error) {
	var err error
	a := &action.Add{
		Path:                    r.text("path", &err),
		PartitionValues:         r.mapping("partitionValues", &err),
		Size:                    r.integerOr("size", math.MinInt64, &err),
		ModificationTime:        r.integerOr("modificationTime", 0, &err),
		DataChange:              r.boolean("dataChange", false, &err),
		Stats:                   r.text("stats", &err),
		Tags:                    r.mapping("tags", &err),
		DeletionVector:          r.vector(&err),
		BaseRowID:               r.integer("baseRowId", &err),
		DefaultRowCommitVersion: r.integer("defaultRowCommitVersion", &err),
		ClusteringProvider:      r.text("clusteringProvider", &err),
	}
	if a.Stats == "" && err == nil {
		a.Stats, err = r.parsedStats()
	}
	return a, err
}

func decodeRemove(r *row) (action.Action, error) {
	var err error
	a := &action.Remove{
		Path:                    r.text("path", &err),
		DeletionTimestamp:       r.integerOr("deletionTimestamp", 0, &err),
		DataChange:              r.boolean("dataChange", true, &err),
		ExtendedFileMetadata:    r.boolean("extendedFileMetadata", false, &err),
		PartitionValues:         r.mapping("partitionValues", &err),
		Size:                    r.integer("size", &err),
		DeletionVector:          r.vector(&err),
		BaseRowID:               r.integer("baseRowId", &err),
		DefaultRowCommitVersion: r.integer("defaultRowCommitVersion", &err),
	}
	return a, err
}

func (r *row) vector(err *error) *action.DeletionVector {
	g := r.group("deletionVector", err)
	if g == nil {
		return nil
	}
	d := &action.DeletionVector{
		StorageType:    g.text("storageType", err),
		PathOrInlineDV: g.text("pathOrInlineDv", err),
		SizeInBytes:    int32(g.integerOr("sizeInBytes", 0, err)),
		Cardinality:    g.integerOr("cardinality", 0, err),
	}
	if offset := g.integer("offset", err); offset != nil {
		o := int32(*offset)
		d.Offset = &o
	}
	return d
}

func decodeMetadata(r *row) (action.Action, error) {
	var err error
	m := &action.Metadata{
		ID:               r.text("id", &err),
		Name:             r.text("name", &err),
		Description:      r.text("description", &err),
		SchemaString:     r.text("schemaString", &err),
		PartitionColumns: r.list("partitionColumns", &err),
		Configuration:    r.texts("configuration", &err),
		CreatedTime:      r.integerOr("createdTime", 0, &err),
	}
	if f := r.group("format", &err); f != nil {
		m.Format = action.Format{
			Provider: f.text("provider", &err),
			Options:  f.texts("options", &err),
		}
	}
	return m, err
}

func decodeProtocol(r *row) (action.Action, error) {
	var err error
	p := &action.Protocol{
		MinReaderVersion: int(r.integerOr("minReaderVersion", 0, &err)),
		MinWriterVersion: int(r.integerOr("minWriterVersion", 0, &err)),
		ReaderFeatures:   r.list("readerFeatures", &err),
		WriterFeatures:   r.list("writerFeatures", &err),
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

func decodeTxn(r *row) (action.Action, error) {
	var err error
	return &action.Txn{
		AppID:       r.text("appId", &err),
		Version:     r.integerOr("version", math.MinInt64, &err),
		LastUpdated: r.integerOr("lastUpdated", 0, &err),
	}, err
}

func decodeDomain(r *row) (action.Action, error) {
	var err error
	return &action.DomainMetadata{
		Domain:        r.text("domain", &err),
		Configuration: r.text("configuration", &err),
		Removed:       r.boolean("removed", false, &err),
	}, err
}

func decodeSidecar(r *row) (action.Action, error) {
	var err error
	return &action.Sidecar{
		Path:             r.text("path", &err),
		SizeInBytes:      r.integerOr("sizeInBytes", 0, &err),
		ModificationTime: r.integerOr("modificationTime", 0, &err),
		Tags:             r.mapping("tags", &err),
	}, err
}

func decodeCheckpointMetadata(r *row) (action.Action, error) {
	var err error
	return &action.CheckpointMetadata{
		Version: r.integerOr("version", 0, &err),
		Tags:    r.mapping("tags", &err),
	}, err
}
