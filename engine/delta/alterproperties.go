package delta

import (
	"fmt"
	"slices"
	"strings"
)

// kept are properties that a table has for life, or that are not for users to
// set: what they say must be true of files and log.
var kept = []string{
	propMaxColumnID, propICTVersion, propICTTimestamp, propRowTrackingSuspend, propRowIDColumn, propRowVersionColumn,
	"delta.requireCheckpointProtectionBeforeVersion",
}

// SetProperties sets properties, and with them the features that they ask for.
// delta.columnMapping.mode may change from none to name only, and in-commit
// timestamps stay on. Errors: [ErrInvalidProperty]; [FeatureError] for row
// tracking, which would need ids for the rows that are there.
func (a *Alteration) SetProperties(properties map[string]string) error {
	if err := CheckProperties(properties); err != nil {
		return err
	}
	for name, value := range properties {
		if err := a.checkProperty(name, value); err != nil {
			return err
		}
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

// checkProperty judges a new value; the present one is always right.
func (a *Alteration) checkProperty(name, value string) error {
	now, has := a.config[name]
	if has && now == value {
		return nil
	}
	refuse := func(why string) error {
		return fmt.Errorf("property %q %s: %w", name, why, ErrInvalidProperty)
	}
	on := strings.EqualFold(value, "true")
	switch {
	case strings.HasPrefix(name, prefixConstraint):
		return refuse("is a constraint")
	case name == propMappingMode:
		same := value == mappingNone && !mapped(a.config)
		if !same && (mapped(a.config) || value != mappingName) {
			return refuse("cannot become " + value)
		}
	case name == propCDF && on && slices.ContainsFunc(a.schema.Fields, func(f Field) bool { return ofChangeFeed(f.Name) }):
		return refuse("needs the name of a column for itself")
	case name == propRowTracking && on:
		return refuseWrite(featRowTracking, "rows that are there have no ids")
	case name == propICT && !on && a.base.inCommitTimestamps():
		return refuse("cannot be switched off")
	}
	if slices.Contains(kept, name) {
		return refuse("is kept by writers")
	}
	return nil
}

// UnsetProperties removes properties; those that are not set do not matter. The
// error is [ErrInvalidProperty].
func (a *Alteration) UnsetProperties(names ...string) error {
	for _, name := range names {
		if _, has := a.config[name]; !has {
			continue
		}
		switch {
		case name == propMappingMode && mapped(a.config), name == propRowTracking && a.base.flag(propRowTracking):
			return fmt.Errorf("property %q cannot be removed: %w", name, ErrInvalidProperty)
		}
		if err := a.checkProperty(name, ""); err != nil && name != propMappingMode {
			return err
		}
	}
	for _, name := range names {
		delete(a.config, name)
	}
	return nil
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
