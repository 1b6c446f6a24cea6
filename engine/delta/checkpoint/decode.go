package checkpoint

import (
	"math"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// decoder decodes the action in a row of the batch.
type decoder func(i int, w *worker) (action.Action, error)

// openers holds a function for each kind of action. It finds the members of the
// action's column and returns their decoder, which reports members of a wrong type when
// an action occurs.
var openers = map[string]func(*record) decoder{
	"add":                openAdd,
	"remove":             openRemove,
	"metaData":           openMetadata,
	"protocol":           openProtocol,
	"txn":                openTxn,
	"domainMetadata":     openDomain,
	"sidecar":            openSidecar,
	"checkpointMetadata": openCheckpointMetadata,
}

func openAdd(r *record) decoder {
	var wrong error
	path, stats := r.text("path", &wrong), r.text("stats", &wrong)
	size, modified := r.integer("size", &wrong), r.integer("modificationTime", &wrong)
	change := r.boolean("dataChange", &wrong)
	values, tags := r.mapping("partitionValues", &wrong), r.mapping("tags", &wrong)
	vector := openVector(r, &wrong)
	base, since := r.integer("baseRowId", &wrong), r.integer("defaultRowCommitVersion", &wrong)
	provider := r.text("clusteringProvider", &wrong)
	parsed := r.group("stats_parsed", &wrong)
	return func(i int, w *worker) (action.Action, error) {
		if wrong != nil {
			return nil, wrong
		}
		a := w.add()
		a.Path, a.Stats, a.ClusteringProvider = path.at(i), stats.at(i), provider.at(i)
		a.Size, a.ModificationTime = size.or(i, math.MinInt64), modified.or(i, 0)
		a.DataChange = change.or(i, false)
		a.BaseRowID, a.DefaultRowCommitVersion = base.at(i), since.at(i)
		a.DeletionVector = vector.at(i)
		var err error
		if a.PartitionValues, err = values.at(i, w); err != nil {
			return nil, err
		}
		if a.Tags, err = tags.at(i, w); err != nil {
			return nil, err
		}
		if a.Stats == "" && parsed != nil {
			a.Stats, err = parsed.statistics(i)
		}
		return a, err
	}
}

func openRemove(r *record) decoder {
	var wrong error
	path, deleted := r.text("path", &wrong), r.integer("deletionTimestamp", &wrong)
	change, extended := r.boolean("dataChange", &wrong), r.boolean("extendedFileMetadata", &wrong)
	values, size := r.mapping("partitionValues", &wrong), r.integer("size", &wrong)
	vector := openVector(r, &wrong)
	base, since := r.integer("baseRowId", &wrong), r.integer("defaultRowCommitVersion", &wrong)
	return func(i int, w *worker) (action.Action, error) {
		if wrong != nil {
			return nil, wrong
		}
		partition, err := values.at(i, w)
		return &action.Remove{
			Path: path.at(i), DeletionTimestamp: deleted.at(i), DataChange: change.or(i, true),
			ExtendedFileMetadata: extended.at(i), PartitionValues: partition, Size: size.at(i),
			DeletionVector: vector.at(i), BaseRowID: base.at(i), DefaultRowCommitVersion: since.at(i),
		}, err
	}
}

// vectorColumns holds the columns of a deletion vector.
type vectorColumns struct {
	def                       int16
	probe                     *leaf
	storage, path             textColumn
	offset, size, cardinality intColumn
}

func openVector(r *record, wrong *error) *vectorColumns {
	g := r.group("deletionVector", wrong)
	if g == nil {
		return nil
	}
	return &vectorColumns{
		def: g.def, probe: g.probe(),
		storage: g.text("storageType", wrong), path: g.text("pathOrInlineDv", wrong),
		offset: g.integer("offset", wrong), size: g.integer("sizeInBytes", wrong),
		cardinality: g.integer("cardinality", wrong),
	}
}

func (v *vectorColumns) at(i int) *action.DeletionVector {
	if v == nil || v.probe.defined(i) < v.def {
		return nil
	}
	d := &action.DeletionVector{
		StorageType: v.storage.at(i), PathOrInlineDV: v.path.at(i),
		SizeInBytes: int32(v.size.or(i, 0)), Cardinality: v.cardinality.or(i, 0),
	}
	if offset := v.offset.at(i); offset != nil {
		o := int32(*offset)
		d.Offset = &o
	}
	return d
}

func openMetadata(r *record) decoder {
	var wrong error
	id, name, description := r.text("id", &wrong), r.text("name", &wrong), r.text("description", &wrong)
	schema, created := r.text("schemaString", &wrong), r.integer("createdTime", &wrong)
	partitions, configuration := r.list("partitionColumns", &wrong), r.mapping("configuration", &wrong)
	format := r.group("format", &wrong)
	var provider textColumn
	var options *mapColumn
	if format != nil {
		provider, options = format.text("provider", &wrong), format.mapping("options", &wrong)
	}
	return func(i int, w *worker) (a action.Action, err error) {
		if wrong != nil {
			return nil, wrong
		}
		m := &action.Metadata{
			ID: id.at(i), Name: name.pointer(i), Description: description.pointer(i), SchemaString: schema.at(i),
			CreatedTime: created.at(i),
		}
		if m.PartitionColumns, err = partitions.at(i); err != nil {
			return nil, err
		}
		if m.Configuration, err = configuration.texts(i, w); err != nil {
			return nil, err
		}
		if format != nil && format.probe().defined(i) >= format.def {
			m.Format.Provider = provider.at(i)
			m.Format.Options, err = options.texts(i, w)
		}
		return m, err
	}
}

func openProtocol(r *record) decoder {
	var wrong error
	reader, writer := r.integer("minReaderVersion", &wrong), r.integer("minWriterVersion", &wrong)
	readerFeatures, writerFeatures := r.list("readerFeatures", &wrong), r.list("writerFeatures", &wrong)
	return func(i int, _ *worker) (a action.Action, err error) {
		if wrong != nil {
			return nil, wrong
		}
		p := &action.Protocol{MinReaderVersion: int(reader.or(i, 0)), MinWriterVersion: int(writer.or(i, 0))}
		if p.ReaderFeatures, err = readerFeatures.at(i); err != nil {
			return nil, err
		}
		if p.WriterFeatures, err = writerFeatures.at(i); err != nil {
			return nil, err
		}
		// Some writers set empty lists for versions that have no feature lists.
		if p.MinReaderVersion < 3 && len(p.ReaderFeatures) == 0 {
			p.ReaderFeatures = nil
		}
		if p.MinWriterVersion < 7 && len(p.WriterFeatures) == 0 {
			p.WriterFeatures = nil
		}
		return p, nil
	}
}

func openTxn(r *record) decoder {
	var wrong error
	app, version := r.text("appId", &wrong), r.integer("version", &wrong)
	updated := r.integer("lastUpdated", &wrong)
	return func(i int, _ *worker) (action.Action, error) {
		return &action.Txn{
			AppID: app.at(i), Version: version.or(i, math.MinInt64), LastUpdated: updated.at(i),
		}, wrong
	}
}

func openDomain(r *record) decoder {
	var wrong error
	domain, configuration := r.text("domain", &wrong), r.text("configuration", &wrong)
	removed := r.boolean("removed", &wrong)
	return func(i int, _ *worker) (action.Action, error) {
		return &action.DomainMetadata{
			Domain: domain.at(i), Configuration: configuration.at(i), Removed: removed.or(i, false),
		}, wrong
	}
}

func openSidecar(r *record) decoder {
	var wrong error
	path, size := r.text("path", &wrong), r.integer("sizeInBytes", &wrong)
	modified, tags := r.integer("modificationTime", &wrong), r.mapping("tags", &wrong)
	return func(i int, w *worker) (action.Action, error) {
		if wrong != nil {
			return nil, wrong
		}
		t, err := tags.at(i, w)
		return &action.Sidecar{
			Path: path.at(i), SizeInBytes: size.or(i, 0), ModificationTime: modified.or(i, 0), Tags: t,
		}, err
	}
}

func openCheckpointMetadata(r *record) decoder {
	var wrong error
	version, tags := r.integer("version", &wrong), r.mapping("tags", &wrong)
	return func(i int, w *worker) (action.Action, error) {
		if wrong != nil {
			return nil, wrong
		}
		t, err := tags.at(i, w)
		return &action.CheckpointMetadata{Version: version.or(i, 0), Tags: t}, err
	}
}
