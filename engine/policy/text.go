package policy

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
)

// The limits of a text written by hand. Rendered texts are within them.
const (
	// maxTests bounds the tests of a text: three for every test of a
	// definition, for its guards, and some for the subject.
	maxTests = 4*MaxLeaves + 8
	// maxNesting bounds the nesting of brackets, negations and ifs.
	maxNesting = 64
	// maxParts bounds the dots, lists and operators of a text, each of which can be a level of
	// Cedar's tree.
	maxParts = 8 * maxTests
)

// Parsed is a policy text that can be compiled. It is immutable.
type Parsed struct {
	// Tree is Cedar's tree of the policy, within the subset that [Parse] describes. It
	// must not be modified.
	Tree *ast.Policy
	text source
}

// Effect returns the effect of the policy.
func (p Parsed) Effect() Effect {
	if p.Tree.Effect == ast.EffectPermit {
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
	start := position{1, 1}
	switch {
	case len(text) > MaxTextBytes:
		return Parsed{}, start.errorf("the text has more than " + strconv.Itoa(MaxTextBytes) + " bytes")
	case !utf8.ValidString(text):
		return Parsed{}, start.errorf("is not valid UTF-8")
	}
	if err := source(text).checkSize(); err != nil {
		return Parsed{}, err
	}
	policies, err := cedar.NewPolicyListFromBytes("", []byte(text))
	switch {
	case err != nil:
		return Parsed{}, syntaxError(err)
	case len(policies) == 0:
		return Parsed{}, start.errorf("expected permit or forbid")
	case len(policies) > 1:
		second := policies[1].Position()
		return Parsed{}, position{second.Line, second.Column}.errorf("expected the end: a text holds one policy")
	}
	policy := (*ast.Policy)(policies[0].AST())
	if err := (&subset{source: source(text)}).policy(policy); err != nil {
		return Parsed{}, err
	}
	return Parsed{Tree: policy, text: source(text)}, nil
}

// source is the text of a policy. It finds the positions that Cedar's tree lacks. It does not store
// tokens, which would use far more memory than the text.
type source string

// checkSize bounds the cost of a text in cedar-go: its parser and the functions that walk
// its tree are recursive, and a path or a pattern of many parts costs more than its
// length.
func (s source) checkSize() error {
	depth, unary, parts, before := 0, 0, 0, ""
	for t := range tokens(string(s)) {
		switch t.text {
		case "(", "{", "if":
			depth++
		case "[":
			depth++
			parts++
		case ")", "]", "}":
			depth--
		case ".", "::", "&&", "||", "+", "*":
			parts++
		}
		if t.text == "!" || t.text == "-" {
			unary++
		} else {
			unary = 0
		}
		switch {
		case depth+unary > maxNesting:
			return t.at.errorf("is nested too deeply")
		case parts > maxParts:
			return t.at.errorf("the policy has too many parts")
		case before == "like" && strings.Count(t.text, "*")-strings.Count(t.text, `\*`) > maxWildcards:
			return t.at.errorf(errWildcards.Error())
		}
		before = t.text
	}
	return nil
}

// scope returns the position of the last token of a run, which must be in the annotations
// or the scope of the policy.
func (s source) scope(run ...string) position {
	return s.find(false, run, len(run)-1)
}

// condition returns the position of the first run of tokens in the conditions.
func (s source) condition(run ...string) position {
	return s.find(true, run, 0)
}

// find returns the position of the token with this index in the first run of tokens,
// or the beginning of the text if there is none. If conditions is set, the search begins
// after the policy's scope, and names of attributes do not match.
func (s source) find(conditions bool, run []string, index int) position {
	window := make([]token, 1, len(run)+2) // the token before a run, and the run
	for t := range tokens(string(s)) {
		if window = append(window, t); len(window) > len(run)+1 {
			window = slices.Delete(window, 0, 1)
		}
		before, last := window[0].text, window[len(window)-2].text
		switch {
		case conditions && last == "," && t.text == "resource":
			conditions = false
			window = append(window[:0], t)
		case conditions || len(window) <= len(run) || (before == "." || before == "has") && run[0] != ".":
		case slices.EqualFunc(window[1:], run, func(t token, text string) bool { return t.text == text }):
			return window[1+index].at
		}
	}
	return position{1, 1}
}

// principal, action and resource return the positions of the parts of the scope, and
// mask returns that of @mask.
func (s source) principal() position { return s.scope("(", "principal") }
func (s source) action() position    { return s.scope(",", "action") }
func (s source) resource() position  { return s.scope(",", "resource") }
func (s source) mask() position      { return s.find(false, []string{"@", maskAnnotation}, 0) }

// The forms in which errors of cedar-go give a position in the text, and a token that
// they expect.
var (
	cedarPlace   = regexp.MustCompile(`<input>:(\d+):(\d+)`)
	cedarExpects = regexp.MustCompile(`(?s)^exact got (.*) want (.*)$`)
)

// syntaxError returns an error of cedar-go's parser as a [*TextError]: at cedar-go's
// position if it has one, else at the beginning of the text.
func syntaxError(err error) error {
	at := position{1, 1}
	if place := cedarPlace.FindStringSubmatch(err.Error()); place != nil {
		line, _ := strconv.Atoi(place[1])
		column, _ := strconv.Atoi(place[2])
		at = position{max(line, 1), max(column, 1)}
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner // the innermost error has no position in its text
	}
	message := strings.TrimLeft(cedarPlace.ReplaceAllString(err.Error(), ""), ": ")
	if got := cedarExpects.FindStringSubmatch(message); got != nil {
		message = "expected " + strconv.Quote(got[2]) + ", found " + strconv.Quote(clip(got[1]))
	}
	return at.errorf("is not a Cedar policy: " + message)
}
