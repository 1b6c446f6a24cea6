package catalog

import (
	"fmt"
	"strings"
	"unicode"
)

// Validate returns nil or [FieldErrors] for the place of a domain of the given kind.
func (a ColumnDomainAt) Validate(kind DomainKind) error {
	var e FieldErrors
	e.columnName("column_name", a.Column)
	switch {
	case kind != DomainHierarchical:
		if a.Parent != "" {
			e.add("parent_column", "must be empty for this kind of domain")
		}
	case a.Parent == a.Column:
		e.add("parent_column", "must be another column")
	default:
		e.columnName("parent_column", a.Parent)
	}
	return e.Err()
}

// ValidateOwn returns nil or [FieldErrors] for a domain that belongs to one column.
func (n NewDomain) ValidateOwn() error {
	var e FieldErrors
	if n.Name != "" {
		e.add("name", "must be empty unless the domain is shared")
	}
	if n.Description != "" {
		e.add("description", "must be empty unless the domain is shared")
	}
	n.content(&e)
	return e.Err()
}

// ValidateShared returns nil or [FieldErrors] for a shared domain.
func (n NewDomain) ValidateShared() error {
	var e FieldErrors
	e.text("name", n.Name, 1, MaxDomainNameLength)
	e.domainText("description", n.Description, MaxDomainDescriptionBytes)
	n.content(&e)
	return e.Err()
}

// content checks that the members fit the kind, and the values.
func (n NewDomain) content(e *FieldErrors) {
	if !n.Kind.Valid() {
		e.add("kind", "must be one of fixed, hierarchical, reference, range")
		return
	}
	switch {
	case n.Source != nil:
		n.Source.validate(e, n.Kind)
	case n.Kind == DomainReference:
		e.add("source", "must not be empty for this kind of domain")
	}
	switch {
	case n.Range == nil && n.Kind == DomainRange:
		e.add("range", "must not be empty for this kind of domain")
	case n.Range != nil && n.Kind != DomainRange:
		e.add("range", "must be empty for this kind of domain")
	case n.Range != nil && n.Range.Min == "" && n.Range.Max == "":
		e.add("range", "must have a minimum or a maximum")
	case n.Range != nil:
		e.domainText("range.min", n.Range.Min, MaxDomainValueBytes)
		e.domainText("range.max", n.Range.Max, MaxDomainValueBytes)
	}
	if !n.Listed() {
		if len(n.Values) > 0 {
			e.add("values", "must be empty for this kind of domain")
		}
		return
	}
	validateDomainValues(e, n.Kind, n.Values, true)
}

func (s *DomainSource) validate(e *FieldErrors, kind DomainKind) {
	if kind != DomainReference && kind != DomainHierarchical {
		e.add("source", "must be empty for this kind of domain")
		return
	}
	if _, err := ParseID[ConfigID](string(s.Config)); err != nil {
		e.add("source.config_id", "must be the id of a storage configuration")
	}
	e.deltaID("source.table_id", s.Table)
	e.columnName("source.column", s.Column)
	switch {
	case kind == DomainHierarchical && s.ParentKey == s.Column:
		e.add("source.parent_key", "must be another column")
	case kind == DomainHierarchical:
		e.columnName("source.parent_key", s.ParentKey)
	case s.ParentKey != "":
		e.add("source.parent_key", "must be empty for this kind of domain")
	}
}

// ValidateDomainValues returns nil or [FieldErrors] for values that are added to a
// domain of a kind with listed values. A parent may be one that exists.
func ValidateDomainValues(kind DomainKind, values []NewDomainValue) error {
	var e FieldErrors
	validateDomainValues(&e, kind, values, false)
	return e.Err()
}

// validateDomainValues checks each value, and that no value is given twice below one
// parent. If complete, the values are all of a domain, so that parents must be among
// them.
func validateDomainValues(e *FieldErrors, kind DomainKind, values []NewDomainValue, complete bool) {
	if len(values) > MaxDomainValues {
		e.add("values", "must be at most %d", MaxDomainValues)
		return
	}
	type key struct{ parent, value string }
	seen := make(map[key]bool, len(values))
	for i, v := range values {
		field := fmt.Sprintf("values[%d].", i)
		at := key{v.Parent, v.Value}
		if e.domainValue(field+"value", v.Value); seen[at] {
			e.add(field+"value", "is given twice")
		}
		seen[at] = true
		switch {
		case v.Parent == "":
		case kind != DomainHierarchical:
			e.add(field+"parent", "must be empty for this kind of domain")
		case complete && !seen[key{"", v.Parent}]:
			e.add(field+"parent", "must be a parent before this value")
		}
		e.label(field, v.Label, v.Description)
	}
}

// ValidateDomainLabel returns nil or [FieldErrors] for the texts of a value that are for
// people.
func ValidateDomainLabel(label, description string) error {
	var e FieldErrors
	e.label("", label, description)
	return e.Err()
}

// Validate returns nil or [FieldErrors] for a change that is to begin.
func (c ValueChange) Validate() error {
	var e FieldErrors
	switch c.Kind {
	case ValueRename, ValueReplace, ValueDelete:
	default:
		e.add("kind", "must be one of rename, replace, delete")
	}
	if c.Kind != ValueDelete {
		e.domainValue("value", c.To)
	} else if c.To != "" {
		e.add("value", "must be empty for a deletion")
	}
	return e.Err()
}

func (e *FieldErrors) label(prefix, label, description string) {
	e.domainText(prefix+"label", label, MaxDomainLabelBytes)
	e.domainText(prefix+"description", description, MaxDomainDescriptionBytes)
}

func (e *FieldErrors) domainValue(field, value string) {
	if strings.TrimFunc(value, unicode.IsSpace) == "" {
		e.add(field, "must not be blank")
		return
	}
	e.domainText(field, value, MaxDomainValueBytes)
}

func (e *FieldErrors) domainText(field, text string, max int) {
	if len(text) > max || !storableText(text) {
		e.add(field, "must be valid UTF-8 of at most %d bytes", max)
	}
}

// columnName checks the physical name of a column.
func (e *FieldErrors) columnName(field, name string) {
	if name == "" || len(name) > 1024 || !storableText(name) {
		e.add(field, "must be valid UTF-8 of 1 to 1024 bytes")
	}
}
