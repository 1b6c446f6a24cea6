package delta

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/engine/delta/action"
)

// legacyWriter maps a writer version to the features that it adds.
var legacyWriter = map[int][]string{
	2: {featAppendOnly, featInvariants},
	3: {featChecks},
	4: {featCDF, featGenerated},
	5: {featMapping},
	6: {featIdentity},
}

// supports reports whether the protocol lists or implies a feature. A feature that
// changes how files are read must also be supported for readers.
func supports(p *action.Protocol, feature string) bool {
	if !slices.Contains(writerFeatures(p), feature) {
		return false
	}
	return p.MinWriterVersion < 7 || !slices.Contains(readable, feature) || slices.Contains(p.ReaderFeatures, feature) ||
		feature == featMapping && p.MinReaderVersion == 2
}

// writerFeatures returns the features of a protocol, including implied ones. Versions
// imply column mapping only if both the reader and the writer version do (protocol,
// "Column Mapping").
func writerFeatures(p *action.Protocol) []string {
	if p.MinWriterVersion >= 7 {
		return p.WriterFeatures
	}
	var list []string
	for version := 2; version <= p.MinWriterVersion; version++ {
		for _, f := range legacyWriter[version] {
			if f != featMapping || p.MinReaderVersion >= 2 {
				list = append(list, f)
			}
		}
	}
	return list
}

// propertyFeatures maps properties to the features that they enable.
var propertyFeatures = map[string]string{
	propAppendOnly: featAppendOnly, propCDF: featCDF, propDV: featDV, propICT: featICT,
	propRowTracking: featRowTracking, propTypeWidening: featTypeWidening,
}

// newProtocol returns the minimal protocol of a new table: reader version 1 and writer
// version 2 if they suffice, else table features.
func newProtocol(schema Struct, properties map[string]string) *action.Protocol {
	empty := &Snapshot{state: &state{metadata: &action.Metadata{}}}
	p, _ := upgrade(action.Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, empty.newlyNeeded(schema, properties))
	return &p
}

// ProtocolFor returns the protocol that the table needs for another schema and other
// properties, and whether it differs from the current one. It adds only features that
// the change uses more than before: existing uses without their feature remain. It
// never removes a feature.
func (s *Snapshot) ProtocolFor(schema Struct, properties map[string]string) (action.Protocol, bool) {
	return upgrade(s.Protocol(), s.newlyNeeded(schema, properties))
}

// newlyNeeded returns the features that schema and properties use more than the table
// does.
func (s *Snapshot) newlyNeeded(schema Struct, properties map[string]string) map[string]bool {
	before, need := usesOf(s.schema, s.Properties()), make(map[string]bool)
	for use, n := range usesOf(schema, properties) {
		if n > before[use] {
			need[use.feature] = true
			if use.feature == featRowTracking {
				need[featDomains] = true
			}
		}
	}
	return need
}

// upgrade returns the minimal protocol with all of p and the features in need. If it
// lists features, it also lists those that the versions of p implied.
func upgrade(p action.Protocol, need map[string]bool) (action.Protocol, bool) {
	maps.DeleteFunc(need, func(f string, _ bool) bool { return supports(&p, f) })
	if len(need) == 0 {
		return p, false
	}
	versions := action.Protocol{MinReaderVersion: 2, MinWriterVersion: p.MinWriterVersion}
	if len(need) == 1 && need[featMapping] && supports(&versions, featMapping) && p.MinWriterVersion < 7 {
		return versions, true
	}
	for _, f := range writerFeatures(&p) {
		need[f] = true
	}
	up := action.Protocol{MinReaderVersion: p.MinReaderVersion, MinWriterVersion: 7, Unknown: p.Unknown}
	up.WriterFeatures = slices.Sorted(maps.Keys(need))
	for _, f := range up.WriterFeatures {
		if slices.Contains(readable, f) || slices.Contains(p.ReaderFeatures, f) {
			up.ReaderFeatures = append(up.ReaderFeatures, f)
		}
	}
	if up.ReaderFeatures != nil || p.MinReaderVersion >= 3 {
		up.MinReaderVersion = 3
	}
	if up.MinReaderVersion == 3 && up.ReaderFeatures == nil {
		up.ReaderFeatures = []string{}
	}
	return up, true
}

// use is one reason to need a feature: a property, a key of field metadata, or a type.
type use struct{ feature, reason string }

// usesOf counts the uses of writer features in a schema and properties.
func usesOf(schema Struct, properties map[string]string) map[use]int {
	uses := make(map[use]int)
	for name, value := range properties {
		feature := propertyFeatures[name]
		switch {
		case feature != "" && strings.EqualFold(value, "true"):
		case strings.HasPrefix(name, prefixConstraint):
			feature = featChecks
		case name == propCheckpointPolicy && value == "v2":
			feature = featV2Checkpoint
		case name == propMappingMode && value != "" && value != mappingNone:
			feature = featMapping
		default:
			continue
		}
		uses[use{feature, name}]++
	}
	walkFields(schema, func(f Field) {
		for key := range f.Metadata {
			switch {
			case key == keyGenerationExpression:
				uses[use{featGenerated, key}]++
			case key == keyDefault:
				uses[use{featDefaults, key}]++
			case key == keyInvariants:
				uses[use{featInvariants, key}]++
			case key == keyTypeChanges:
				uses[use{featTypeWidening, key}]++
			case strings.HasPrefix(key, keyIdentityPrefix):
				uses[use{featIdentity, keyIdentityPrefix}]++
			}
		}
		if !f.Nullable {
			uses[use{featInvariants, "NOT NULL"}]++
		}
	})
	walkTypes(schema, func(t DataType) {
		switch t {
		case DataType(TimestampNTZ):
			uses[use{featNTZ, ""}]++
		case DataType(Variant):
			uses[use{featVariant, ""}]++
		}
	})
	return uses
}

// grows returns an error if the new protocol lacks something of the old one.
func grows(old, now *action.Protocol) error {
	if now.MinReaderVersion < old.MinReaderVersion || now.MinWriterVersion < old.MinWriterVersion {
		return fmt.Errorf("protocol version decreases: %w", ErrInvalidTxn)
	}
	for _, f := range writerFeatures(old) {
		if !slices.Contains(writerFeatures(now), f) || supports(old, f) && !supports(now, f) {
			return fmt.Errorf("protocol removes feature %s: %w", f, ErrInvalidTxn)
		}
	}
	return nil
}

// mergeProtocols returns the minimal protocol that covers both. Protocols normally only
// grow, so the result is normally now. It differs if another writer removed features.
func mergeProtocols(now, then action.Protocol) action.Protocol {
	lacks := func(have, want []string) bool {
		return slices.ContainsFunc(want, func(f string) bool { return !slices.Contains(have, f) })
	}
	if now.MinReaderVersion >= then.MinReaderVersion && now.MinWriterVersion >= then.MinWriterVersion &&
		!lacks(now.ReaderFeatures, then.ReaderFeatures) &&
		!lacks(writerFeatures(&now), writerFeatures(&then)) {
		return now
	}
	union := func(a, b []string) []string {
		all := slices.Concat(a, b)
		slices.Sort(all)
		return slices.Compact(all)
	}
	p := action.Protocol{
		MinReaderVersion: max(now.MinReaderVersion, then.MinReaderVersion), MinWriterVersion: 7,
		WriterFeatures: union(writerFeatures(&now), writerFeatures(&then)),
	}
	if p.MinReaderVersion >= 3 {
		p.ReaderFeatures = union(now.ReaderFeatures, then.ReaderFeatures)
		if legacy := min(now.MinReaderVersion, then.MinReaderVersion); legacy == 2 {
			p.ReaderFeatures = union(p.ReaderFeatures, []string{featMapping})
		}
	}
	return p
}
