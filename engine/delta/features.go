package delta

import (
	"slices"
	"strings"
)

// Names of table features.
const (
	featAppendOnly       = "appendOnly"
	featInvariants       = "invariants"
	featChecks           = "checkConstraints"
	featCDF              = "changeDataFeed"
	featGenerated        = "generatedColumns"
	featDefaults         = "allowColumnDefaults"
	featIdentity         = "identityColumns"
	featMapping          = "columnMapping"
	featDV               = "deletionVectors"
	featNTZ              = "timestampNtz"
	featTypeWidening     = "typeWidening"
	featTypeWideningOld  = "typeWidening-preview"
	featV2Checkpoint     = "v2Checkpoint"
	featDomains          = "domainMetadata"
	featRowTracking      = "rowTracking"
	featICT              = "inCommitTimestamp"
	featICTOld           = "inCommitTimestamp-preview"
	featClustering       = "clustering"
	featVacuumCheck      = "vacuumProtocolCheck"
	featVariant          = "variantType"
	featVariantOld       = "variantType-preview"
	featVariantShred     = "variantShredding"
	featVariantShredOld  = "variantShredding-preview"
	featCatalogManaged   = "catalogManaged"
	mappingWithPartition = "columnMapping with partition columns"
	featVoid             = "void columns"
	featPartitionType    = "partition columns of this type"
	featOnlyPartitions   = "partition columns only"
	featAbsolute         = "absolute paths"
)

// readable lists the supported reader features: those that DuckDB's extension or a scan
// of the listed files applies, and those that do not affect reading.
var readable = []string{
	featMapping, featDV, featNTZ, featTypeWidening, featTypeWideningOld, featV2Checkpoint,
	featVacuumCheck, featVariant, featVariantOld, featVariantShred, featVariantShredOld,
}

// writable lists the supported writer features. Some are supported only while they are
// not active; CheckWritable checks that.
var writable = []string{
	featAppendOnly, featInvariants, featChecks, featCDF, featGenerated, featDefaults, featIdentity,
	featMapping, featDV, featNTZ, featTypeWidening, featTypeWideningOld, featV2Checkpoint,
	featDomains, featRowTracking, featICT, featClustering, featVacuumCheck,
	featVariant, featVariantOld, featVariantShred, featVariantShredOld,
}

// Duty is a requirement of the table for every new row that the log itself cannot
// enforce.
type Duty int

// The duties that a caller can fulfil. NOT NULL is always the caller's duty.
const (
	// EvaluatesChecks: every CHECK constraint is true for every new row.
	EvaluatesChecks Duty = iota
	// EvaluatesInvariants: every column invariant is true for every new row.
	EvaluatesInvariants
	// FillsDefaults: omitted columns have their default values.
	FillsDefaults
	// FillsGenerated: generated columns have the values of their expressions.
	FillsGenerated
	// KeepsRowIDs: rows that moved to another file store their row ids and commit
	// versions in the columns of [Snapshot.RowColumns].
	KeepsRowIDs
)

// CheckReadable returns a [FeatureError] if the table cannot be read correctly.
func CheckReadable(s *Snapshot) error { return s.checkReader() }

// CheckScannable returns a [FeatureError] if DuckDB's extension would misread the
// table. It is stricter than [CheckReadable], which accepts tables whose files can be
// read one by one.
func CheckScannable(s *Snapshot) error {
	if err := s.checkReader(); err != nil {
		return err
	}
	if len(s.PartitionColumns()) > 0 && s.Mapped() {
		return &FeatureError{Feature: mappingWithPartition, Reason: "the scan would return NULL for the partition columns"}
	}
	for _, f := range s.PartitionReader().columns {
		if !readsPartition(f.Type) {
			return partitionTypeError(f)
		}
	}
	if s.Widened() {
		return &FeatureError{Feature: featTypeWidening, Reason: "the scan would cast constants to the narrower type of older files"}
	}
	if s.state.absolute {
		return &FeatureError{Feature: featAbsolute, Reason: "the scan would look for them below the table's folder"}
	}
	if ContainsType(s.schema, Void) {
		return &FeatureError{Feature: featVoid, Reason: "the scan does not have the type"}
	}
	if ContainsType(s.schema, Variant) {
		return &FeatureError{Feature: featVariant, Reason: "the scan would return values that are not JSON text"}
	}
	return nil
}

// checkReader refuses tables that neither DuckDB's extension nor a scan of the listed
// files can read.
func (s *Snapshot) checkReader() error {
	p := s.state.protocol
	refuse := func(feature, reason string) error {
		return &FeatureError{Feature: feature, Reason: reason}
	}
	if p.MinReaderVersion > 3 {
		return refuse("reader version above 3", "")
	}
	for _, f := range p.ReaderFeatures {
		if !slices.Contains(readable, f) {
			return refuse(f, "")
		}
	}
	// The commits of such tables are not all in the log, whichever list has the
	// feature.
	for _, f := range p.WriterFeatures {
		if f == featCatalogManaged || strings.HasPrefix(f, "catalogOwned") {
			return refuse(f, "commits live in a catalog")
		}
	}
	if f := s.state.metadata.Format.Provider; f != "" && f != "parquet" {
		return refuse("format "+f, "")
	}
	var bad Primitive
	walkTypes(s.schema, func(t DataType) {
		if p, ok := t.(Primitive); ok && !p.Known() {
			bad = p
		}
	})
	if bad != "" {
		return refuse("type "+string(bad), "")
	}
	if reason := s.undefinedVoid(); reason != "" {
		return refuse(featVoid, reason)
	}
	nul := false
	walkFields(s.schema, func(f Field) { nul = nul || strings.Contains(f.Name, "\x00") })
	if nul {
		return refuse("column name with a zero byte", "no statement can name it")
	}
	if s.duplicate != "" {
		return refuse(featAbsolute, "a file is live under two paths")
	}
	if column := foreignChange(s.schema); column != "" {
		return refuse(featTypeWidening, "unsupported type change of column "+column)
	}
	return nil
}

// CheckWritable returns a [FeatureError] if a caller that fulfils the given duties
// cannot add rows to the table. [Txn.Commit] checks exactly what the transaction does,
// which may need less (no new rows) or more (see [CheckRewritable]).
func CheckWritable(s *Snapshot, duties ...Duty) error {
	if err := s.checkWriter(); err != nil {
		return err
	}
	if err := s.checkDuties(duties); err != nil {
		return err
	}
	return s.checkFileTypes()
}

// CheckRewritable returns a [FeatureError] if rows of the table cannot be moved to
// another file by a rewrite or a compaction.
func CheckRewritable(s *Snapshot) error {
	if err := s.checkWriter(); err != nil {
		return err
	}
	if err := s.checkRowColumns(); err != nil {
		return err
	}
	return s.checkFileTypes()
}

// undefinedVoid returns where the schema has a void type whose meaning is undefined: in
// a list or map, as a partition column, or in a table without any column stored in
// files. It returns "" if there is none.
func (s *Snapshot) undefinedVoid() string {
	reason := ""
	walkTypes(s.schema, func(t DataType) {
		switch t := t.(type) {
		case Array:
			if ContainsType(t.Element, Void) {
				reason = "in a list"
			}
		case Map:
			if ContainsType(t.Key, Void) || ContainsType(t.Value, Void) {
				reason = "in a map"
			}
		}
	})
	void, stored := false, false
	for _, f := range s.schema.Fields {
		void, stored = void || f.Type == Void, stored || s.InFiles(f)
		if f.Type == Void && slices.Contains(s.PartitionColumns(), f.Name) {
			reason = "as a partition column"
		}
	}
	if void && !stored {
		reason = "with no other column in files"
	}
	return reason
}

func refuseWrite(feature, reason string) error {
	return &FeatureError{Feature: feature, Write: true, Reason: reason}
}

// checkWriter refuses a table to which no commit can be added.
func (s *Snapshot) checkWriter() error {
	if err := s.checkReader(); err != nil {
		return err
	}
	p := s.state.protocol
	if p.MinWriterVersion > 7 {
		return refuseWrite("writer version above 7", "")
	}
	for _, f := range p.WriterFeatures {
		if !slices.Contains(writable, f) {
			return refuseWrite(f, "")
		}
	}
	return s.checkMapping()
}

// checkFileTypes refuses column types that this engine cannot write.
func (s *Snapshot) checkFileTypes() error {
	var found error
	walkFields(s.schema, func(f Field) {
		if found == nil && ContainsType(f.Type, Variant) {
			found = refuseWrite(featVariant, f.Name)
		}
		if st, ok := f.Type.(Struct); found == nil && ok && ContainsType(st, Void) {
			found = refuseWrite(featVoid, "in column "+f.Name)
		}
	})
	return found
}

func (s *Snapshot) checkDuties(duties []Duty) error {
	takes := func(d Duty) bool { return slices.Contains(duties, d) }
	for name := range s.Properties() {
		if strings.HasPrefix(name, prefixConstraint) && !takes(EvaluatesChecks) {
			return refuseWrite(featChecks, name)
		}
	}
	var found error
	note := func(feature, reason string) {
		if found == nil {
			found = refuseWrite(feature, reason)
		}
	}
	walkFields(s.schema, func(f Field) {
		for key := range f.Metadata {
			switch {
			case key == keyInvariants && !takes(EvaluatesInvariants):
				note(featInvariants, f.Name)
			case key == keyGenerationExpression && !takes(FillsGenerated):
				note(featGenerated, f.Name)
			case key == keyDefault && !takes(FillsDefaults):
				note(featDefaults, f.Name)
			case strings.HasPrefix(key, keyIdentityPrefix):
				note(featIdentity, f.Name)
			}
		}
	})
	return found
}

// AppendOnly reports whether rows may only be added.
func (s *Snapshot) AppendOnly() bool { return s.flag(propAppendOnly) }

// Constraints returns the CHECK expressions, in Spark's SQL, by name.
func (s *Snapshot) Constraints() map[string]string { return ConstraintsIn(s.Properties()) }

// ConstraintsIn returns the CHECK expressions that the properties of a table hold, by name.
func ConstraintsIn(properties map[string]string) map[string]string {
	out := make(map[string]string)
	for name, expr := range properties {
		if short, ok := strings.CutPrefix(name, prefixConstraint); ok {
			out[short] = expr
		}
	}
	return out
}

// ContainsType reports whether t is the primitive type p or contains it at any depth.
func ContainsType(t DataType, p Primitive) bool {
	found := false
	walkTypes(t, func(t DataType) { found = found || t == DataType(p) })
	return found
}

// walkTypes visits t and every type below it.
func walkTypes(t DataType, visit func(DataType)) {
	visit(t)
	switch t := t.(type) {
	case Array:
		walkTypes(t.Element, visit)
	case Map:
		walkTypes(t.Key, visit)
		walkTypes(t.Value, visit)
	case Struct:
		for _, f := range t.Fields {
			walkTypes(f.Type, visit)
		}
	}
}

// walkFields visits every field of every struct in t, at any depth.
func walkFields(t DataType, visit func(Field)) {
	walkTypes(t, func(t DataType) {
		if s, ok := t.(Struct); ok {
			for _, f := range s.Fields {
				visit(f)
			}
		}
	})
}

// Mapped reports whether column mapping is enabled, so that columns have physical names
// in files.
func (s *Snapshot) Mapped() bool { return mapped(s.Properties()) }

// Widened reports whether a column or nested field once had a narrower type, which
// files may still use.
func (s *Snapshot) Widened() bool { return s.WidenedColumns() != nil }

// WidenedColumns returns the names of columns whose files may hold a narrower type, of
// the column itself or nested in it; nil if there are none.
func (s *Snapshot) WidenedColumns() []string {
	var names []string
	for _, column := range s.schema.Fields {
		changed := false
		walkFields(Struct{Fields: []Field{column}}, func(f Field) {
			_, has := f.Metadata[keyTypeChanges]
			changed = changed || has
		})
		if changed {
			names = append(names, column.Name)
		}
	}
	return names
}

// WholeFiles reports whether every live file is known to hold every column of the
// schema except partition columns. This is known for files that this engine added under
// the current schema. A checkpoint does not record who added a file, so a table loaded
// from one has no such files until its old files are replaced.
func (s *Snapshot) WholeFiles() bool { return s.state.whole }
