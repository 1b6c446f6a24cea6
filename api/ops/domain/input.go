package domain

import (
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/delta"
	rules "github.com/lakewarden/lakewarden/engine/domain"
)

// valuesOf checks the values of one list and returns them with their canonical texts.
// Fields of errors are field[<i>].
func valuesOf(t delta.DataType, field string, values []Value) ([]catalog.NewDomainValue, error) {
	if len(values) > catalog.MaxDomainValues {
		return nil, fault.Invalid(field, "must be at most %d", catalog.MaxDomainValues)
	}
	l := list{seen: map[string]bool{}}
	for i, v := range values {
		l.add(t, fmt.Sprintf("%s[%d]", field, i), "", v)
	}
	return l.out, l.problems.Err()
}

// hierarchyOf checks parents and their children and returns each parent before its
// children. Fields of errors are parents[<i>].value and parents[<i>].children[<j>].
func hierarchyOf(parent, child delta.DataType, parents []Parent) ([]catalog.NewDomainValue, error) {
	total := len(parents)
	for _, p := range parents {
		total += len(p.Children)
	}
	if total > catalog.MaxDomainValues {
		return nil, fault.Invalid("parents", "must be at most %d with their children", catalog.MaxDomainValues)
	}
	var out []catalog.NewDomainValue
	above := list{seen: map[string]bool{}}
	for i, p := range parents {
		key, ok := above.add(parent, fmt.Sprintf("parents[%d].value", i), "", p.Value)
		below := list{seen: map[string]bool{}}
		for j, v := range p.Children {
			below.add(child, fmt.Sprintf("parents[%d].children[%d]", i, j), key, v)
		}
		above.problems = append(above.problems, below.problems...)
		if ok {
			out = append(append(out, above.out[len(above.out)-1]), below.out...)
		}
	}
	return out, above.problems.Err()
}

// list checks values, each of which may be in it once.
type list struct {
	seen     map[string]bool
	out      []catalog.NewDomainValue
	problems catalog.FieldErrors
}

// add checks one value and returns its canonical text.
func (l *list) add(t delta.DataType, field, parent string, v Value) (string, bool) {
	text, message := canonical(t, v.Value)
	if message == "" && l.seen[text] {
		message = "is given twice"
	}
	if message != "" {
		l.problems = append(l.problems, catalog.FieldError{Field: field, Message: message})
		return "", false
	}
	if err := catalog.ValidateDomainLabel(v.Label, v.Description); err != nil {
		var broken catalog.FieldErrors
		if errors.As(err, &broken) {
			for _, b := range broken {
				l.problems = append(l.problems, catalog.FieldError{Field: field + "." + b.Field, Message: b.Message})
			}
		}
		return "", false
	}
	l.seen[text] = true
	l.out = append(l.out, catalog.NewDomainValue{Parent: parent, Value: text, Label: v.Label, Description: v.Description})
	return text, true
}

// canonical returns the canonical text of a value, or what is wrong with it. A nil type is
// that of values of a shared domain, which fit a column only when it uses the domain.
func canonical(t delta.DataType, text string) (string, string) {
	if t == nil {
		t = delta.String
	}
	out, err := rules.Canonical(t, text)
	if err != nil {
		return "", err.Error()
	}
	if len(out) > catalog.MaxDomainValueBytes {
		return "", fmt.Sprintf("must be at most %d bytes", catalog.MaxDomainValueBytes)
	}
	return out, ""
}

// oneValue is [canonical] for the value of a field.
func oneValue(t delta.DataType, field, text string) (string, error) {
	out, message := canonical(t, text)
	if message != "" {
		return "", fault.Invalid(field, "%s", message)
	}
	return out, nil
}

// boundsOf returns bounds with canonical texts.
func boundsOf(t delta.DataType, b catalog.DomainRangeBounds) (catalog.DomainRangeBounds, error) {
	out, err := rules.CanonicalBounds(t, rules.Bounds(b))
	var refused *rules.BoundError
	if errors.As(err, &refused) {
		field := refused.Field
		if field == "" {
			field = "min"
		}
		return b, fault.Invalid(field, "%s", refused.Reason)
	}
	return catalog.DomainRangeBounds(out), err
}
