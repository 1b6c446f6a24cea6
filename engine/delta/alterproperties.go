package delta

import (
	"fmt"
	"slices"
	"strings"
)

// SetProperties sets properties and enables the features that they need.
// delta.columnMapping.mode can only change from none to name, and in-commit timestamps
// cannot be disabled. Errors: [PropertyError], which lists every invalid property;
// [FeatureError] for row tracking, because existing rows have no ids.
func (a *Alteration) SetProperties(properties map[string]string) error {
	broken := make(map[string]string)
	for name, value := range properties {
		if now, has := a.config[name]; has && now == value {
			continue // an unchanged value is always accepted
		}
		if name == propRowTracking && strings.EqualFold(value, "true") {
			return refuseWrite(featRowTracking, "existing rows have no ids")
		}
		reason := invalidProperty(a.schema, a.partitions, name, value)
		if reason == "" {
			reason = a.invalidChange(name, value)
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

// invalidChange returns why this table cannot change a property to a value that is
// otherwise valid, or "" if it can.
func (a *Alteration) invalidChange(name, value string) string {
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
		return "reserves a name that a column has"
	case name == propICT && !on && a.base.inCommitTimestamps():
		return "cannot be switched off"
	}
	return ""
}

// UnsetProperties removes properties and ignores those that are not set. The error is a
// [PropertyError].
func (a *Alteration) UnsetProperties(names ...string) error {
	broken := make(map[string]string)
	for _, name := range names {
		if _, has := a.config[name]; has && a.permanent(name) {
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

// permanent reports whether a property, once set, cannot be removed.
func (a *Alteration) permanent(name string) bool {
	switch name {
	case propMappingMode:
		return mapped(a.config)
	case propRowTracking:
		return a.base.flag(propRowTracking)
	case propICT:
		return a.base.inCommitTimestamps()
	}
	return strings.HasPrefix(name, prefixConstraint) || slices.Contains(reservedProperties, name)
}

// AddConstraint adds a CHECK constraint: an expression in Spark's SQL that must be true
// for every row. The caller must have checked the existing rows. Constraint names are
// case-insensitive; [Snapshot.Constraints] returns them in lower case. The error is
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

// DropConstraint removes a constraint and reports whether it existed.
func (a *Alteration) DropConstraint(name string) bool {
	key, ok := a.constraint(name)
	delete(a.config, key)
	return ok
}

// constraint returns the name of the property that holds a constraint.
func (a *Alteration) constraint(name string) (property string, ok bool) {
	for key := range a.config {
		if short, is := strings.CutPrefix(key, prefixConstraint); is && strings.EqualFold(short, name) {
			return key, true
		}
	}
	return "", false
}
