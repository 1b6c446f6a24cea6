package rowfilter

import (
	"strconv"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// The limits of a text written by hand. A rendered text keeps them too.
const (
	// maxTests bounds the tests of a text: three for every test of a
	// definition, for its guards, and some for the subject.
	maxTests = 4*MaxLeaves + 8
	// maxNesting bounds the nesting of parentheses and negations.
	maxNesting = 64
)

// Parsed is a policy text that was understood. It is immutable.
type Parsed struct {
	policy *ast.Policy
	marks  marks
}

// marks are what a text says beside the policy's meaning for Cedar, and where.
type marks struct {
	// mask is the value of @mask, empty without one.
	mask string
	// maskAt, actionAt and resourceAt are where these parts of the policy begin.
	maskAt, actionAt, resourceAt position
	// rowAt is the first place that looks at a row; line 0 without one.
	rowAt position
}

// Effect returns what the policy does.
func (p Parsed) Effect() Effect {
	if p.policy.Effect == ast.EffectPermit {
		return Permit
	}
	return Forbid
}

// Parse reads one policy in the subset of Cedar that can be compiled:
//
//	permit|forbid (principal [in Role::"r" | == User::"id"], action, resource)
//	when { … } unless { … };
//
// with &&, ||, !, has, ==, !=, <, <=, >, >=, the decimal methods lessThan …,
// like, and [ … ].contains(…) or principal.list.contains(…), between columns
// (resource.c), user attributes (principal.a) and literals. Errors are of type
// [*TextError]. It never panics and needs time linear in the text.
func Parse(text string) (Parsed, error) {
	if len(text) > MaxTextBytes {
		return Parsed{}, position{1, 1}.errorf("the text has more than " + strconv.Itoa(MaxTextBytes) + " bytes")
	}
	tokens, err := lex(text)
	if err != nil {
		return Parsed{}, err
	}
	p := &parser{tokens: tokens}
	policy, err := p.parsePolicy()
	if err != nil {
		return Parsed{}, err
	}
	// Cedar's own parser must read the same policy: what we compile is what
	// every other Cedar tool sees.
	var reference cedar.Policy
	if err := reference.UnmarshalCedar([]byte(text)); err != nil || !samePolicy(policy, (*ast.Policy)(reference.AST())) ||
		string(reference.Annotations()[maskAnnotation]) != p.marks.mask {
		return Parsed{}, position{1, 1}.errorf("is not a Cedar policy")
	}
	if _, _, err := symbolicTruth(policy); err != nil {
		return Parsed{}, position{1, 1}.errorf(err.Error())
	}
	return Parsed{policy: policy, marks: p.marks}, nil
}

// samePolicy compares all that has a meaning for Cedar; annotations have none.
func samePolicy(a, b *ast.Policy) bool {
	if a.Effect != b.Effect || a.Principal != b.Principal || a.Action != b.Action || a.Resource != b.Resource || len(a.Conditions) != len(b.Conditions) {
		return false
	}
	for i := range a.Conditions {
		if a.Conditions[i].Condition != b.Conditions[i].Condition || !ast.Equal(ast.NewNode(a.Conditions[i].Body), ast.NewNode(b.Conditions[i].Body)) {
			return false
		}
	}
	return true
}

type parser struct {
	tokens  []token
	pos     int
	nesting int
	tests   int
	joins   int
	marks   marks
}

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEOF {
		p.pos++
	}
	return t
}

// is reports whether the next token is this symbol or word.
func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == tokenSymbol || t.kind == tokenIdent) && t.text == text
}

// accept consumes the next token if it is this symbol or word.
func (p *parser) accept(text string) bool {
	if p.is(text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if p.accept(text) {
		return nil
	}
	return p.peek().at.errorf("expected " + strconv.Quote(text))
}

func (p *parser) str() (string, error) {
	t := p.next()
	if t.kind != tokenString {
		return "", t.at.errorf("expected a string")
	}
	_, s, err := unquote(t.text, false)
	if err != nil {
		return "", t.at.errorf(err.Error())
	}
	return s, nil
}

func (p *parser) parsePolicy() (*ast.Policy, error) {
	if err := p.annotations(); err != nil {
		return nil, err
	}
	var policy *ast.Policy
	switch {
	case p.accept("permit"):
		policy = ast.Permit()
	case p.accept("forbid"):
		policy = ast.Forbid()
	default:
		return nil, p.peek().at.errorf("expected permit or forbid")
	}
	if err := p.scope(policy); err != nil {
		return nil, err
	}
	for p.is("when") || p.is("unless") {
		when := p.next().text == "when"
		if err := p.expect("{"); err != nil {
			return nil, err
		}
		body, err := p.boolean()
		if err != nil {
			return nil, err
		}
		if err := p.expect("}"); err != nil {
			return nil, err
		}
		if when {
			policy.When(ast.NewNode(body))
		} else {
			policy.Unless(ast.NewNode(body))
		}
	}
	if err := p.expect(";"); err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokenEOF {
		return nil, t.at.errorf("expected the end: a text holds one policy")
	}
	return policy, nil
}

// annotations reads @mask("…") and skips @name and @name("text").
func (p *parser) annotations() error {
	for p.accept("@") {
		name, value := p.next(), ""
		if name.kind != tokenIdent {
			return name.at.errorf("expected the name of an annotation")
		}
		if p.accept("(") {
			var err error
			if value, err = p.str(); err != nil {
				return err
			}
			if err := p.expect(")"); err != nil {
				return err
			}
		}
		if name.text == maskAnnotation {
			if !validMask(value) {
				return name.at.errorf("the masks are null, hash, last4 and year")
			}
			p.marks.mask, p.marks.maskAt = value, name.at
		}
	}
	return nil
}

func (p *parser) scope(policy *ast.Policy) error {
	if err := p.expect("("); err != nil {
		return err
	}
	if err := p.expect("principal"); err != nil {
		return err
	}
	switch {
	case p.accept("=="):
		uid, err := p.entity(userType)
		if err != nil {
			return err
		}
		policy.PrincipalEq(uid)
	case p.accept("in"):
		uid, err := p.entity(roleType)
		if err != nil {
			return err
		}
		policy.PrincipalIn(uid)
	case p.accept("is"):
		if err := p.expect(string(userType)); err != nil {
			return err
		}
		if !p.accept("in") {
			policy.PrincipalIs(userType)
			break
		}
		uid, err := p.entity(roleType)
		if err != nil {
			return err
		}
		policy.PrincipalIsIn(userType, uid)
	}
	if err := p.expect(","); err != nil {
		return err
	}
	p.marks.actionAt = p.peek().at
	if err := p.expect("action"); err != nil {
		return err
	}
	if p.accept("==") {
		at := p.peek().at
		uid, err := p.entity(actionType)
		if err != nil {
			return err
		}
		if uid != readUID && uid != unmaskUID {
			return at.errorf(`the actions are Action::"read" and Action::"unmask"`)
		}
		policy.ActionEq(uid)
	}
	if err := p.expect(","); err != nil {
		return err
	}
	p.marks.resourceAt = p.peek().at
	if err := p.expect("resource"); err != nil {
		return err
	}
	switch {
	case p.accept("=="):
		uid, err := p.entity(columnEnt)
		if err != nil {
			return err
		}
		policy.ResourceEq(uid)
	case p.accept("is"):
		if err := p.expect(string(rowType)); err != nil {
			return err
		}
		policy.ResourceIs(rowType)
	}
	return p.expect(")")
}

// entity reads Type::"id" of one type.
func (p *parser) entity(want types.EntityType) (types.EntityUID, error) {
	if t := p.peek(); t.kind != tokenIdent || t.text != string(want) {
		return types.EntityUID{}, t.at.errorf("expected " + string(want) + `::"…"`)
	}
	p.pos++
	if err := p.expect("::"); err != nil {
		return types.EntityUID{}, err
	}
	id, err := p.str()
	return types.NewEntityUID(want, types.String(id)), err
}
