package delta

import (
	"fmt"
	"slices"
	"strings"
)

// SetProperties sets properties, and with them the features that they ask for.
// delta.columnMapping.mode may change from none to name only, and in-commit
// timestamps stay on. Errors: [PropertyError], with all that cannot be set;
// [FeatureError] for row tracking, which would need ids for the rows that are
// there.
func (a *Alteration) SetProperties(properties map[string]string) error {
	broken := make(map[string]string)
	for name, value := range properties {
		if now, has := a.config[name]; has && now == value {
			continue // whoever set it: what stands is right
		}
		if name == propRowTracking && strings.EqualFold(value, "true") {
			return refuseWrite(featRowTracking, "rows that are there have no ids")
		}
		reason := unfit(a.schema, a.partitions, name, value)
		if reason == "" {
			reason = a.unfit(name, value)
		}
		if reason != "" {
			broken[name] = reason
		}
	}
	if err := refuseProperties(broken); err != nil {
		return err
	}
	for name, value := range properties {
		if name == propMappingMode && value == mappingName {
			a.mapColumns()
			continue
		}
		a.config[name] = value
	}
	return nil
}

// unfit says why this table cannot have a value that others could have.
func (a *Alteration) unfit(name, value string) string {
	on := strings.EqualFold(value, "true")
	switch {
	case strings.HasPrefix(name, prefixConstraint):
		return "is a constraint"
	case name == propMappingMode:
		same := value == mappingNone && !mapped(a.config)
		if !same && (mapped(a.config) || value != mappingName) {
			return "cannot become " + value
		}
	case name == propCDF && on && slices.ContainsFunc(a.schema.Fields, func(f Field) bool { return ofChangeFeed(f.Name) }):
		return "needs the name of a column for itself"
	case name == propICT && !on && a.base.inCommitTimestamps():
		return "cannot be switched off"
	}
	return ""
}

// UnsetProperties removes properties; those that are not set do not matter. The
// error is a [PropertyError].
func (a *Alteration) UnsetProperties(names ...string) error {
	broken := make(map[string]string)
	for _, name := range names {
		if _, has := a.config[name]; has && a.lasting(name) {
			broken[name] = "cannot be removed"
		}
	}
	if err := refuseProperties(broken); err != nil {
		return err
	}
	for _, name := range names {
		delete(a.config, name)
	}
	return nil
}

// lasting reports whether a property that is set stays.
func (a *Alteration) lasting(name string) bool {
	switch name {
	case propMappingMode:
		return mapped(a.config)
	case propRowTracking:
		return a.base.flag(propRowTracking)
	case propICT:
		return a.base.inCommitTimestamps()
	}
	return strings.HasPrefix(name, prefixConstraint) || slices.Contains(kept, name)
}

// AddConstraint demands that an expression, in Spark's SQL, be true of every row.
// The caller has made sure that it is of the rows of this version. Names are
// equal in any case; [Snapshot.Constraints] has them in lower case. The error is
// [ErrInvalidProperty].
func (a *Alteration) AddConstraint(name, expr string) error {
	key := prefixConstraint + strings.ToLower(name)
	if name == "" || len(name) > 255 || strings.TrimSpace(expr) == "" || len(expr) > 64<<10 {
		return fmt.Errorf("constraint %.40q: %w", name, ErrInvalidProperty)
	}
	if _, ok := a.constraint(name); ok {
		return fmt.Errorf("constraint %q exists: %w", name, ErrInvalidProperty)
	}
	a.config[key] = expr
	return nil
}

// DropConstraint takes a constraint away and reports whether there was one.
func (a *Alteration) DropConstraint(name string) bool {
	key, ok := a.constraint(name)
	delete(a.config, key)
	return ok
}

// constraint finds the property of a constraint.
func (a *Alteration) constraint(name string) (property string, ok bool) {
	for key := range a.config {
		if short, is := strings.CutPrefix(key, prefixConstraint); is && strings.EqualFold(short, name) {
			return key, true
		}
	}
	return "", false
}
