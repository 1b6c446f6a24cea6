package sqlfilter_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
)

// satisfies evaluates a condition over a row as engine.Condition is documented.
func satisfies(columns []engine.Column, c engine.Condition, r row) bool {
	holds := func(k engine.Condition) bool { return satisfies(columns, k, r) }
	switch c.Op {
	case engine.ConditionUnknown:
		return true
	case engine.ConditionNever:
		return false
	case engine.ConditionAnd:
		return !slices.ContainsFunc(c.Children, func(k engine.Condition) bool { return !holds(k) })
	case engine.ConditionOr:
		return slices.ContainsFunc(c.Children, holds)
	}
	i := slices.IndexFunc(columns, func(col engine.Column) bool { return col.Name == c.Column })
	if i < 0 {
		panic("condition on a column that is not there: " + c.Column)
	}
	v := r[c.Column]
	if c.Op == engine.ConditionIsNull || v == nil {
		return v == nil && c.Op == engine.ConditionIsNull
	}
	if c.Op == engine.ConditionIsNotNull {
		return true
	}
	if c.Op != engine.ConditionIn && len(c.Values) != 1 {
		panic("a comparison has one value")
	}
	for _, value := range c.Values {
		if order := ordered(v, columns[i].Type.String(), string(value)); map[engine.ConditionOp]bool{
			engine.ConditionEqual: order == 0, engine.ConditionNotEqual: order != 0, engine.ConditionIn: order == 0,
			engine.ConditionLess: order < 0, engine.ConditionLessOrEqual: order <= 0,
			engine.ConditionGreater: order > 0, engine.ConditionGreaterOrEqual: order >= 0,
		}[c.Op] {
			return true
		}
	}
	return false
}

// ordered compares a row's value with a constant in the form of its type.
func ordered(v any, typ, constant string) int {
	switch v := v.(type) {
	case string:
		return strings.Compare(v, constant)
	case bool:
		if constant != "true" && constant != "false" {
			panic("no boolean: " + constant)
		}
		if v == (constant == "true") {
			return 0
		}
		return 1
	case *big.Rat:
		if !numberForm.MatchString(constant) {
			panic("no number: " + constant)
		}
		n, _ := new(big.Rat).SetString(constant)
		return v.Cmp(n)
	case time.Time:
		layout := "2006-01-02 15:04:05.999999"
		if typ == "DATE" {
			layout = time.DateOnly
		}
		at, err := time.Parse(layout, constant)
		if err != nil {
			panic(err)
		}
		return v.Compare(at)
	}
	panic("no value")
}

// What compares bare columns with constants, negated or not, reaches data
// skipping exactly: a condition that is too weak skips nothing.
func TestConditionOfPlainTestsIsExact(t *testing.T) {
	all := rows()
	decided := 0
	rapid.Check(t, func(rt *rapid.T) {
		var tree func(depth int) policy.Condition
		tree = func(depth int) policy.Condition {
			switch kind := rapid.IntRange(0, 3).Draw(rt, "kind"); {
			case depth == 0 || kind == 0:
				c := test(rt)
				for c.Op == policy.OpLike || c.Op == policy.OpStartsWith || c.Op == policy.OpContains {
					c = test(rt)
				}
				return c
			case kind == 1:
				return policy.Condition{Not: ptr(tree(depth - 1))}
			case kind == 2:
				return policy.Condition{And: []policy.Condition{tree(depth - 1), tree(depth - 1)}}
			}
			return policy.Condition{Or: []policy.Condition{tree(depth - 1), tree(depth - 1)}}
		}
		d := definition(rt)
		d.def.Subject = policy.Subject{Everyone: ptr(true)}
		for range 5 {
			d.def.Condition = ptr(tree(2))
			if d.def.Validate(policy.KindRLS, d.column, columns) == nil {
				break
			}
		}
		if d.def.Validate(policy.KindRLS, d.column, nil) != nil {
			return
		}
		everything := bound{policy.Definition{Effect: policy.Permit, Subject: d.def.Subject}, ""}
		defs := []bound{d}
		if d.def.Effect == policy.Forbid {
			defs = append(defs, everything)
		}
		w := world{columns: columns, role: "analyst", attrs: attributes(rt), mistyped: new(bool)}
		f, texts, err := compileAll(defs, w, true)
		require.NoError(rt, err)
		if !f.Restricted {
			require.Equal(rt, engine.ConditionUnknown, f.Condition.Op)
		}
		seen := 0
		for _, r := range all {
			w.visible(defs, r)
		}
		if *w.mistyped {
			return // the permit can show less than three-valued logic does
		}
		for i, r := range all {
			visible := w.visible(defs, r)
			require.Equal(rt, visible, satisfies(columns, f.Condition, r), "row %d %v\n%s\npredicate %s\ncondition %+v", i, r, texts, f.Predicate,
				f.Condition)
			if f.Restricted {
				require.Equal(rt, visible, satisfies(columns, f.Assured, r), "row %d %v\n%s\npredicate %s\nassured %+v", i, r, texts, f.Predicate,
					f.Assured)
			}
			if visible {
				seen++
			}
		}
		if seen > 0 && seen < len(all) {
			decided++
		}
	})
	require.Greater(t, decided, 20)
}

func TestConditionOfPatterns(t *testing.T) {
	is := func(op engine.ConditionOp, value string) engine.Condition {
		return engine.Condition{Op: op, Column: "Region", Values: []engine.ConditionValue{engine.ConditionValue(value)}}
	}
	begins := func(from, to string) engine.Condition {
		return engine.AllOf(is(engine.ConditionGreaterOrEqual, from), is(engine.ConditionLess, to))
	}
	present := engine.Condition{Op: engine.ConditionIsNotNull, Column: "Region"}
	for pattern, want := range map[string]engine.Condition{
		`EU*`:          begins("EU", "EV"),
		`EU*west`:      begins("EU", "EV"),
		`*EU`:          present,
		`*EU*`:         present,
		`*`:            present,
		`EU`:           is(engine.ConditionEqual, "EU"),
		``:             is(engine.ConditionEqual, ""),
		"a\U0010ffff*": begins("a\U0010ffff", "b"),
		"\U0010ffff*":  is(engine.ConditionGreaterOrEqual, "\U0010ffff"),
		"\ud7ff*":      begins("\ud7ff", "\ue000"),
	} {
		text := `permit (principal, action, resource) when { resource has Region && resource.Region like "` + pattern + `" };`
		f := compileTexts(t, nil, text)
		require.Equal(t, want, f.Condition, "%q", pattern)
		if want.Op == engine.ConditionEqual || pattern == "*" {
			require.Equal(t, want, f.Assured, "%q", pattern)
		} else {
			require.Equal(t, engine.Condition{Op: engine.ConditionNever}, f.Assured, "%q", pattern)
		}
	}
	text := `permit (principal, action, resource) when { resource has Region && !(resource.Region like "EU*") };`
	require.Equal(t, present, compileTexts(t, nil, text).Condition)
}
