package action

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Action is the content of one line of a commit: one of this package's pointer types.
// Decoded actions must not be changed.
//
// Encoding an action writes every member that it was decoded from. The field Unknown
// holds members that this package does not know. A null member counts as absent, and so
// does an empty string of statistics or of a clustering provider.
type Action interface {
	// name returns the name of the member that holds the action in its JSON line.
	name() string
}

// Protocol holds the versions and features that readers and writers must support.
type Protocol struct {
	MinReaderVersion int `json:"minReaderVersion"`
	MinWriterVersion int `json:"minWriterVersion"`
	// ReaderFeatures is non-nil if and only if MinReaderVersion is 3.
	ReaderFeatures []string `json:"readerFeatures,omitzero"`
	// WriterFeatures is non-nil if and only if MinWriterVersion is 7.
	WriterFeatures []string       `json:"writerFeatures,omitzero"`
	Unknown        jsontext.Value `json:",embed"`
}

// Format describes the format of the data files. Readers require both members.
type Format struct {
	Provider string            `json:"provider"`
	Options  map[string]string `json:"options"`
	Unknown  jsontext.Value    `json:",embed"`
}

// Metadata describes a table: its id, schema, partitioning and properties.
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

// DeletionVector locates the set of deleted rows of a file.
type DeletionVector struct {
	// StorageType is "u" (a file named by a UUID), "p" (a file with an absolute path)
	// or "i" (inline).
	StorageType    string `json:"storageType"`
	PathOrInlineDV string `json:"pathOrInlineDv"`
	Offset         *int32 `json:"offset,omitzero"`
	SizeInBytes    int32  `json:"sizeInBytes"`
	Cardinality    int64  `json:"cardinality"`

	Unknown jsontext.Value `json:",embed"`
}

// UniqueID returns the id of the vector within the log (protocol, "Derived Fields"). It
// is empty for nil.
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

// Add adds a file to the table.
type Add struct {
	// Path is URI-encoded, as in the log.
	Path string `json:"path"`
	// PartitionValues has one entry for each partition column; nil is NULL.
	PartitionValues map[string]*string `json:"partitionValues"`
	Size            int64              `json:"size"`
	// ModificationTime is in milliseconds since the epoch.
	ModificationTime int64 `json:"modificationTime"`
	DataChange       bool  `json:"dataChange"`
	// Stats is a JSON document as text; empty if absent.
	Stats                   string             `json:"stats,omitzero"`
	Tags                    map[string]*string `json:"tags,omitzero"`
	DeletionVector          *DeletionVector    `json:"deletionVector,omitzero"`
	BaseRowID               *int64             `json:"baseRowId,omitzero"`
	DefaultRowCommitVersion *int64             `json:"defaultRowCommitVersion,omitzero"`
	ClusteringProvider      string             `json:"clusteringProvider,omitzero"`
	Unknown                 jsontext.Value     `json:",embed"`
}

// Remove removes a file from the table and remains in the log as its tombstone.
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

// DeletedAt returns the time of the removal in milliseconds since the epoch, or 0 if it
// is not recorded.
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

// CDC adds a change data file.
type CDC struct {
	Path            string             `json:"path"`
	PartitionValues map[string]*string `json:"partitionValues"`
	Size            int64              `json:"size"`
	DataChange      bool               `json:"dataChange"`
	Tags            map[string]*string `json:"tags,omitzero"`
	Unknown         jsontext.Value     `json:",embed"`
}

// DomainMetadata holds the configuration of a metadata domain.
type DomainMetadata struct {
	Domain        string `json:"domain"`
	Configuration string `json:"configuration"`
	Removed       bool   `json:"removed"`

	Unknown jsontext.Value `json:",embed"`
}

// Sidecar refers to a file with a part of a V2 checkpoint.
type Sidecar struct {
	Path             string             `json:"path"`
	SizeInBytes      int64              `json:"sizeInBytes"`
	ModificationTime int64              `json:"modificationTime"`
	Tags             map[string]*string `json:"tags,omitzero"`
	Unknown          jsontext.Value     `json:",embed"`
}

// CheckpointMetadata describes a V2 checkpoint.
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
