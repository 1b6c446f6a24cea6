package action

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Action is one line of a commit: exactly one of the pointer types of this
// package. Actions are values of the log; nobody changes one that was decoded.
//
// An action is encoded with every member that it was decoded from. Members that this
// package does not know are in the field Unknown. A null member counts as absent, and
// so does an empty string of statistics or of a clustering provider.
type Action interface {
	// name is the member that holds the action in its JSON line.
	name() string
}

// Protocol says what a reader and a writer of the table must understand.
type Protocol struct {
	MinReaderVersion int `json:"minReaderVersion"`
	MinWriterVersion int `json:"minWriterVersion"`
	// ReaderFeatures is non-nil exactly with reader version 3.
	ReaderFeatures []string `json:"readerFeatures,omitzero"`
	// WriterFeatures is non-nil exactly with writer version 7.
	WriterFeatures []string       `json:"writerFeatures,omitzero"`
	Unknown        jsontext.Value `json:",embed"`
}

// Format names the format of the data files. Readers demand both members.
type Format struct {
	Provider string            `json:"provider"`
	Options  map[string]string `json:"options"`
	Unknown  jsontext.Value    `json:",embed"`
}

// Metadata describes the table: identity, schema, partitioning, properties.
type Metadata struct {
	ID               string            `json:"id"`
	Name             *string           `json:"name,omitzero"`
	Description      *string           `json:"description,omitzero"`
	Format           Format            `json:"format"`
	SchemaString     string            `json:"schemaString"`
	PartitionColumns []string          `json:"partitionColumns"`
	Configuration    map[string]string `json:"configuration"`
	// CreatedTime is in milliseconds since the epoch.
	CreatedTime *int64         `json:"createdTime,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

// DeletionVector points at the rows of a file that are gone.
type DeletionVector struct {
	// StorageType is "u" (file named by a UUID), "p" (absolute path) or "i"
	// (inline).
	StorageType    string `json:"storageType"`
	PathOrInlineDV string `json:"pathOrInlineDv"`
	Offset         *int32 `json:"offset,omitzero"`
	SizeInBytes    int32  `json:"sizeInBytes"`
	Cardinality    int64  `json:"cardinality"`

	Unknown jsontext.Value `json:",embed"`
}

// UniqueID is the identity of the vector within the log (protocol, "Derived
// Fields"). A nil vector has the empty id.
func (d *DeletionVector) UniqueID() string {
	if d == nil {
		return ""
	}
	id := d.StorageType + d.PathOrInlineDV
	if d.Offset != nil {
		id += "@" + strconv.FormatInt(int64(*d.Offset), 10)
	}
	return id
}

// Add makes a file part of the table.
type Add struct {
	// Path is URI-encoded, as in the log.
	Path string `json:"path"`
	// PartitionValues has one entry for each partition column; nil is null.
	PartitionValues map[string]*string `json:"partitionValues"`
	Size            int64              `json:"size"`
	// ModificationTime is in milliseconds since the epoch.
	ModificationTime int64 `json:"modificationTime"`
	DataChange       bool  `json:"dataChange"`
	// Stats is a JSON document kept as text; empty when absent.
	Stats                   string             `json:"stats,omitzero"`
	Tags                    map[string]*string `json:"tags,omitzero"`
	DeletionVector          *DeletionVector    `json:"deletionVector,omitzero"`
	BaseRowID               *int64             `json:"baseRowId,omitzero"`
	DefaultRowCommitVersion *int64             `json:"defaultRowCommitVersion,omitzero"`
	ClusteringProvider      string             `json:"clusteringProvider,omitzero"`
	Unknown                 jsontext.Value     `json:",embed"`
}

// Remove takes a file out of the table and is its tombstone afterwards.
type Remove struct {
	// Path is URI-encoded, as in the log.
	Path string `json:"path"`
	// DeletionTimestamp is in milliseconds since the epoch.
	DeletionTimestamp       *int64             `json:"deletionTimestamp,omitzero"`
	DataChange              bool               `json:"dataChange"`
	ExtendedFileMetadata    *bool              `json:"extendedFileMetadata,omitzero"`
	PartitionValues         map[string]*string `json:"partitionValues,omitzero"`
	Size                    *int64             `json:"size,omitzero"`
	Stats                   string             `json:"stats,omitzero"`
	Tags                    map[string]*string `json:"tags,omitzero"`
	DeletionVector          *DeletionVector    `json:"deletionVector,omitzero"`
	BaseRowID               *int64             `json:"baseRowId,omitzero"`
	DefaultRowCommitVersion *int64             `json:"defaultRowCommitVersion,omitzero"`
	Unknown                 jsontext.Value     `json:",embed"`
}

// DeletedAt returns the time of the removal in milliseconds since the epoch, or 0 if
// the log does not state it.
func (r *Remove) DeletedAt() int64 {
	if r.DeletionTimestamp == nil {
		return 0
	}
	return *r.DeletionTimestamp
}

// Txn records the progress of one application.
type Txn struct {
	AppID   string `json:"appId"`
	Version int64  `json:"version"`
	// LastUpdated is in milliseconds since the epoch.
	LastUpdated *int64         `json:"lastUpdated,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

// CDC names a file of row changes.
type CDC struct {
	Path            string             `json:"path"`
	PartitionValues map[string]*string `json:"partitionValues"`
	Size            int64              `json:"size"`
	DataChange      bool               `json:"dataChange"`
	Tags            map[string]*string `json:"tags,omitzero"`
	Unknown         jsontext.Value     `json:",embed"`
}

// DomainMetadata is configuration owned by a named domain.
type DomainMetadata struct {
	Domain        string `json:"domain"`
	Configuration string `json:"configuration"`
	Removed       bool   `json:"removed"`

	Unknown jsontext.Value `json:",embed"`
}

// Sidecar names a file that holds a part of a V2 checkpoint.
type Sidecar struct {
	Path             string             `json:"path"`
	SizeInBytes      int64              `json:"sizeInBytes"`
	ModificationTime int64              `json:"modificationTime"`
	Tags             map[string]*string `json:"tags,omitzero"`
	Unknown          jsontext.Value     `json:",embed"`
}

// CheckpointMetadata heads a V2 checkpoint.
type CheckpointMetadata struct {
	Version int64              `json:"version"`
	Tags    map[string]*string `json:"tags,omitzero"`
	Unknown jsontext.Value     `json:",embed"`
}

func (*CommitInfo) name() string         { return "commitInfo" }
func (*Protocol) name() string           { return "protocol" }
func (*Metadata) name() string           { return "metaData" }
func (*Add) name() string                { return "add" }
func (*Remove) name() string             { return "remove" }
func (*Txn) name() string                { return "txn" }
func (*CDC) name() string                { return "cdc" }
func (*DomainMetadata) name() string     { return "domainMetadata" }
func (*Sidecar) name() string            { return "sidecar" }
func (*CheckpointMetadata) name() string { return "checkpointMetadata" }
