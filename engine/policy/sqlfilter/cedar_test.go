package sqlfilter_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// Cedar assigns an attribute one type, this package assigns a type for each use. cedarCase draws
// policies whose text has one Cedar type for each attribute, and matching entities, so that Cedar's
// own decision can be compared.

// typedAttributes records how each attribute is used in cedarCase.
var typedAttributes = map[string]string{
	"region": "VARCHAR", "level": "BIGINT", "born": "DATE", "regions": "VARCHAR[]", "levels": "BIGINT[]", "flag": "BOOLEAN",
	"cap": "DECIMAL(10,2)",
}

// comparedWith records which column an attribute is compared with.
var comparedWith = map[string]string{"region": "Region", "level": "level", "born": "born", "regions": "Region", "levels": "level",
	"flag": "active", "cap": "amount"}

var cedarColumns = []string{"Region", "level", "tiny", "amount", "active", "born", "at", "seen", `in "odd" näme`}

func cedarTest(t *rapid.T) policy.Condition {
	c := policy.Condition{Op: rapid.SampledFrom(ops).Draw(t, "op")}
	if rapid.IntRange(0, 2).Draw(t, "by") == 0 && c.Op != policy.OpIsNull && c.Op != policy.OpIsNotNull {
		name := rapid.SampledFrom([]string{"region", "level", "born", "regions", "levels", "flag", "cap"}).Draw(t, "attribute")
		c.Attribute, c.Column = &name, ptr(comparedWith[name])
		if strings.HasSuffix(typedAttributes[name], "[]") {
			c.Op = rapid.SampledFrom([]policy.Op{policy.OpIn, policy.OpNotIn}).Draw(t, "list op")
		} else if c.Op == policy.OpIn || c.Op == policy.OpNotIn {
			c.Op = policy.OpEq
		}
		return c
	}
	c.Column = ptr(rapid.SampledFrom(cedarColumns).Draw(t, "column"))
	c.Value = value(t, c.Op, *c.Column)
	return c
}

func cedarCondition(t *rapid.T, depth int) policy.Condition {
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 || kind == 0 {
		return cedarTest(t)
	}
	if kind == 1 {
		return policy.Condition{Not: ptr(cedarCondition(t, depth-1))}
	}
	list := []policy.Condition{cedarCondition(t, depth-1), cedarCondition(t, depth-1)}
	if kind == 2 {
		return policy.Condition{And: list}
	}
	return policy.Condition{Or: list}
}

// cedarCase draws policies that fit the columns, and a user.
func cedarCase(t *rapid.T) ([]bound, world) {
	var defs []bound
	for n := rapid.IntRange(1, 3).Draw(t, "policies"); len(defs) < n; {
		d := bound{policy.Definition{Effect: rapid.SampledFrom([]policy.Effect{policy.Permit, policy.Forbid}).Draw(t, "effect")}, "Region"}
		switch rapid.IntRange(0, 3).Draw(t, "subject") {
		case 0:
			d.def.Subject.Role = ptr("analyst")
		case 1:
			d.def.Subject = policy.Subject{Attribute: ptr("level"), Op: ptr(rapid.SampledFrom(ops[:6]).Draw(t, "op"))}
			d.def.Subject.Value = rapid.SampledFrom([]any{fromInt(1), fromInt(5), fromInt(-1)}).Draw(t, "value")
		case 2:
			d.def.Subject = policy.Subject{Attribute: ptr("region"), Op: ptr(policy.OpEq)}
		default:
			d.def.Subject.Everyone = ptr(true)
		}
		d.def.Condition = ptr(cedarCondition(t, 2))
		if d.def.Validate(policy.KindRLS, d.column, columns) == nil {
			defs = append(defs, d)
		}
	}
	attrs := map[string]string{}
	for _, name := range sorted(typedAttributes) {
		if rapid.IntRange(0, 5).Draw(t, "present") == 0 {
			continue
		}
		pool := map[string][]string{
			"region": texts[:12], "level": append(numbers[:8:8], "x"), "born": times, "regions": lists[:8],
			"levels": {"1,5,127", "1,x", "[1, 5]", "[]", "[1.0]", "0"}, "flag": {"true", "false", "TRUE"}, "cap": numbers,
		}[name]
		attrs[name] = rapid.SampledFrom(pool).Draw(t, name)
	}
	return defs, world{columns: columns, role: rapid.SampledFrom([]string{"analyst", "admin"}).Draw(t, "role"), attrs: attrs}
}

func fromInt(n int) any { return jsonNumber(fmt.Sprint(n)) }

// cedarValue is a value of a row or a typed attribute as Cedar holds it.
func cedarValue(v any, typ string) types.Value {
	switch v := v.(type) {
	case string:
		return types.String(v)
	case bool:
		return types.Boolean(v)
	case time.Time:
		return types.NewDatetime(v)
	case *big.Rat:
		if strings.HasPrefix(typ, "DECIMAL") {
			d, err := types.ParseDecimal(v.FloatString(2))
			if err != nil {
				panic(err)
			}
			return d
		}
		return types.Long(v.Num().Int64())
	}
	panic(fmt.Sprintf("%T", v))
}

// cedarRow is a row's attributes; a NULL is an attribute that is missing.
func cedarRow(r row) types.Record {
	out := types.RecordMap{}
	for _, c := range columns {
		if v := r[c.Name]; v != nil && c.Type != sqltype.Double {
			out[types.String(c.Name)] = cedarValue(v, c.Type.String())
		}
	}
	return types.NewRecord(out)
}

// cedarUser types attributes; one that is not of its type is missing.
func cedarUser(attrs map[string]string) types.Record {
	out := types.RecordMap{}
	for name, raw := range attrs {
		typ, isList := strings.CutSuffix(typedAttributes[name], "[]")
		items := []any{raw}
		ok := true
		if isList {
			items, ok = list(raw)
		}
		var values []types.Value
		for _, item := range items {
			v, fits := cast(typ, item)
			if ok = ok && fits; ok {
				values = append(values, cedarValue(v, typ))
			}
		}
		switch {
		case !ok:
		case isList:
			out[types.String(name)] = types.NewSet(values...)
		default:
			out[types.String(name)] = values[0]
		}
	}
	return types.NewRecord(out)
}

func cedarEntities(w world, r row) (types.EntityMap, cedar.Request) {
	user, res := types.NewEntityUID("User", "u1"), types.NewEntityUID("Row", "1")
	return types.EntityMap{
			user: {UID: user, Parents: types.NewEntityUIDSet(types.NewEntityUID("Role", types.String(w.role))), Attributes: cedarUser(w.attrs)},
			res:  {UID: res, Attributes: cedarRow(r)},
		}, cedar.Request{
			Principal: user, Action: types.NewEntityUID("Action", "read"), Resource: res, Context: types.NewRecord(nil),
		}
}

// Cedar's own decision over a rendered text is the oracle's, row by row, and
// Cedar never sees an error in it.
func TestCedarMatchesOracle(t *testing.T) {
	all := rows()
	allowed, denied := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		defs, w := cedarCase(rt)
		set := cedar.NewPolicySet()
		var source []string
		for i, d := range defs {
			text, err := policy.Render(d.def, d.column, policy.KindRLS, columns)
			require.NoError(rt, err)
			source = append(source, text)
			var p cedar.Policy
			require.NoError(rt, p.UnmarshalCedar([]byte(text)), text)
			set.Add(cedar.PolicyID(fmt.Sprint(i)), &p)
		}
		for i, r := range all {
			entities, request := cedarEntities(w, r)
			decision, diagnostic := cedar.Authorize(set, entities, request)
			require.Empty(rt, diagnostic.Errors, "%s", source)
			want := w.visible(defs, r)
			require.Equal(rt, want, bool(decision), "row %d %v\ntexts %s\nattributes %v role %s", i, r, source, w.attrs, w.role)
			if want {
				allowed++
			} else {
				denied++
			}
		}
	})
	require.Greater(t, allowed, 200)
	require.Greater(t, denied, 200)
}

// expression is a condition written by hand, with its atoms.
type expression struct {
	op   string
	kids []expression
	atom string
	// foreign names the column of an atom whose operands have different types.
	foreign string
}

func (e expression) String() string {
	switch e.op {
	case "":
		return e.atom
	case "!":
		return "!(" + e.kids[0].String() + ")"
	}
	return "(" + e.kids[0].String() + " " + e.op + " " + e.kids[1].String() + ")"
}

// logic is the three-valued truth of e, given that of its atoms.
func (e expression) logic(atom func(string) tri) tri {
	switch e.op {
	case "":
		return atom(e.atom)
	case "!":
		return e.kids[0].logic(atom).not()
	case "&&":
		return min(e.kids[0].logic(atom), e.kids[1].logic(atom))
	}
	return max(e.kids[0].logic(atom), e.kids[1].logic(atom))
}

var atoms = []string{
	`resource.level == 1`, `resource.tiny > 5`, `resource.Region == principal.region`, `principal.level >= 1`, `resource.active`,
	`resource.Region like "E*"`, `["EU", "US"].contains(resource.Region)`, `principal.regions.contains(resource.Region)`,
	`resource has level`, `principal has region`, `resource.amount.lessThan(decimal("1.5"))`, `resource.born == datetime("2024-02-29")`,
	`principal in Role::"analyst"`, `principal == User::"u1"`, `true`, `5 < resource.level`, `resource.level <= principal.level`,
	`principal.region like "*U*"`, `principal.levels.contains(5)`, `[1, 5].contains(principal.level)`, `principal != User::"u2"`,
}

func drawExpression(t *rapid.T, depth int) expression {
	kind := 3
	if depth > 0 {
		kind = rapid.IntRange(0, 3).Draw(t, "kind")
	}
	switch kind {
	case 0:
		return expression{op: "!", kids: []expression{drawExpression(t, depth-1)}}
	case 1, 2:
		return expression{op: []string{"&&", "||"}[kind-1], kids: []expression{drawExpression(t, depth-1), drawExpression(t, depth-1)}}
	}
	return expression{atom: rapid.SampledFrom(atoms).Draw(t, "atom")}
}

// A permit written by hand without guards grants what Cedar grants. A forbid
// hides all but what three-valued logic makes false, with Cedar judging the
// atoms; and never less than Cedar hides.
func TestHandWrittenTextMatchesCedar(t *testing.T) {
	all := rows()
	db := openRows(t, all)
	judge := map[string]*cedar.PolicySet{}
	for _, a := range atoms {
		set, err := cedar.NewPolicySetFromBytes("", []byte("permit (principal, action, resource) when { "+a+" };"))
		require.NoError(t, err)
		judge[a] = set
	}
	rapid.Check(t, func(rt *rapid.T) {
		effect := rapid.SampledFrom([]string{"permit", "forbid"}).Draw(rt, "effect")
		when, unless := drawExpression(rt, 3), drawExpression(rt, 1)
		text := effect + " (principal, action, resource) when { " + when.String() + " } unless { " + unless.String() + " };"
		_, w := cedarCase(rt)
		// Attributes that are not of their type are unknown here but missing for Cedar. The oracle
		// checks that difference.
		typed := cedarUser(w.attrs)
		for name := range w.attrs {
			if _, ok := typed.Get(types.String(name)); !ok {
				delete(w.attrs, name)
			}
		}
		request := sqlfilter.Request{
			Policies:  []sqlfilter.Policy{{ID: "p", Kind: policy.KindRLS, Text: text}},
			Principal: sqlfilter.Principal{UserID: "u1", Role: w.role, Attributes: w.attrs}, Columns: columns, Alias: "t",
		}
		if effect == "forbid" {
			request.Policies = append(request.Policies, sqlfilter.Policy{ID: "all", Kind: policy.KindRLS,
				Text: "permit (principal, action, resource);"})
		}
		f, err := sqlfilter.Compile(request)
		require.NoError(rt, err, text)
		got, err := query(db, f)
		require.NoError(rt, err, f.Predicate)
		set, err := cedar.NewPolicySetFromBytes("", []byte(text))
		require.NoError(rt, err)
		want := []int{}
		for i, r := range all {
			entities, req := cedarEntities(w, r)
			decision, diagnostic := cedar.Authorize(set, entities, req)
			if effect == "permit" {
				if decision {
					want = append(want, i)
				}
				continue
			}
			hides := min(when.logic(atomTruth(judge, entities, req)), unless.logic(atomTruth(judge, entities, req)).not())
			if hides == no {
				want = append(want, i)
				require.Empty(rt, diagnostic.Reasons, "%s hides row %d for Cedar", text, i)
			}
		}
		require.Equal(rt, want, got, "%s\nattributes %v role %s\npredicate %s", text, w.attrs, w.role, f.Predicate)
	})
}

func atomTruth(judge map[string]*cedar.PolicySet, entities types.EntityMap, req cedar.Request) func(string) tri {
	return func(atom string) tri {
		decision, diagnostic := cedar.Authorize(judge[atom], entities, req)
		if len(diagnostic.Errors) > 0 {
			return maybe
		}
		return triOf(bool(decision))
	}
}
