package constraint

import (
	"github.com/lakewarden/lakewarden/engine/constraint/sparktoken"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// fromSpark parses an expression of the log: the part of Spark's SQL whose meaning is unambiguous,
// and the equivalent forms that delta-rs prints. An expression that Spark and delta-rs interpret
// differently is an error.
func (b builder) fromSpark(text string) (*expr, error) {
	e, err := b.readSpark(text)
	if err != nil {
		return nil, err
	}
	return e, condition(e)
}

// readSpark parses an expression of any type.
func (b builder) readSpark(text string) (*expr, error) {
	if len(text) > maxText {
		return nil, invalid("it is longer than %d bytes", maxText)
	}
	tokens, err := sparktoken.Scan(text)
	if err != nil {
		return nil, invalid("%s", err)
	}
	b.spark = true
	p := &sparkParser{b: b, tokens: tokens}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.peek().Kind != sparktoken.End {
		return nil, invalid("text after its end")
	}
	return e, nil
}

type sparkParser struct {
	b      builder
	tokens []sparktoken.Token
	at     int
	depth  int
}

func (p *sparkParser) peek() sparktoken.Token { return p.tokens[p.at] }

// next consumes a token, except the end.
func (p *sparkParser) next() sparktoken.Token {
	t := p.tokens[p.at]
	if t.Kind != sparktoken.End {
		p.at++
	}
	return t
}

// word consumes the words if they are next.
func (p *sparkParser) word(words ...string) bool {
	for i, w := range words {
		if p.at+i >= len(p.tokens) || p.tokens[p.at+i].Kind != sparktoken.Word || p.tokens[p.at+i].Text != w {
			return false
		}
	}
	p.at += len(words)
	return true
}

func (p *sparkParser) symbol(texts ...string) (string, bool) {
	t := p.peek()
	for _, text := range texts {
		if t.Kind == sparktoken.Symbol && t.Text == text {
			p.at++
			return text, true
		}
	}
	return "", false
}

func (p *sparkParser) need(text string) error {
	if _, ok := p.symbol(text); !ok {
		return invalid("%q is missing", text)
	}
	return nil
}

func (p *sparkParser) or() (*expr, error) {
	return p.series(p.and, opOr, "or")
}

func (p *sparkParser) and() (*expr, error) {
	return p.series(p.negation, opAnd, "and")
}

func (p *sparkParser) series(part func() (*expr, error), o op, word string) (*expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, invalid("it is nested deeper than %d", maxDepth)
	}
	defer func() { p.depth-- }()
	first, err := part()
	if err != nil {
		return nil, err
	}
	args := []*expr{first}
	for p.word(word) {
		e, err := part()
		if err != nil {
			return nil, err
		}
		args = append(args, e)
	}
	if len(args) == 1 {
		return first, nil
	}
	return p.b.logic(o, args...)
}

func (p *sparkParser) negation() (*expr, error) {
	nots := 0
	for {
		if _, ok := p.symbol("!"); !ok && !p.word("not") {
			break
		}
		if nots++; nots > maxDepth {
			return nil, invalid("it is nested deeper than %d", maxDepth)
		}
	}
	e, err := p.predicate()
	for ; err == nil && nots > 0; nots-- {
		e, err = p.b.not(e)
	}
	return e, err
}

var sparkComparisons = map[string]string{
	"=": "=", "==": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "IS NOT DISTINCT FROM",
}

// predicate parses a value, or one comparison or test of values. Two in a row bind differently in
// the engines, so they need parentheses.
func (p *sparkParser) predicate() (*expr, error) {
	l, err := p.sum()
	if err != nil {
		return nil, err
	}
	if text, ok := p.symbol("=", "==", "!=", "<>", "<", "<=", ">", ">=", "<=>"); ok {
		r, err := p.sum()
		if err != nil {
			return nil, err
		}
		return p.b.compare(sparkComparisons[text], l, r)
	}
	if p.word("is") {
		return p.is(l)
	}
	negated := p.word("not")
	e, err := p.test(l)
	switch {
	case err != nil:
		return nil, err
	case e == nil && negated:
		return nil, invalid("NOT after a value")
	case e == nil:
		return l, nil
	case negated:
		return p.b.not(e)
	}
	return e, nil
}

// is parses the part after IS.
func (p *sparkParser) is(l *expr) (*expr, error) {
	negated := p.word("not")
	var e *expr
	var err error
	switch {
	case p.word("null"):
		e = p.b.isNull(l)
	case p.word("true"):
		e, err = p.b.compare("IS NOT DISTINCT FROM", l, p.b.boolean(true))
	case p.word("false"):
		e, err = p.b.compare("IS NOT DISTINCT FROM", l, p.b.boolean(false))
	case p.word("distinct", "from"):
		var r *expr
		if r, err = p.sum(); err == nil {
			text := map[bool]string{false: "IS DISTINCT FROM", true: "IS NOT DISTINCT FROM"}[negated]
			return p.b.compare(text, l, r)
		}
	default:
		err = invalid("what follows IS")
	}
	if err != nil || !negated {
		return e, err
	}
	return p.b.not(e)
}

// test parses BETWEEN, IN and LIKE; it returns nil if none of them is next.
func (p *sparkParser) test(l *expr) (*expr, error) {
	switch {
	case p.word("between"):
		low, err := p.sum()
		if err != nil {
			return nil, err
		}
		if !p.word("and") {
			return nil, invalid("BETWEEN without AND")
		}
		high, err := p.sum()
		if err != nil {
			return nil, err
		}
		return p.b.between(l, low, high)
	case p.word("in"):
		if err := p.need("("); err != nil {
			return nil, err
		}
		items, err := p.list()
		if err != nil {
			return nil, err
		}
		return p.b.in(l, items)
	case p.word("like"):
		pattern, err := p.sum()
		if err != nil {
			return nil, err
		}
		return p.b.like(l, pattern, nil)
	}
	return nil, nil
}

// list parses expressions up to the closing parenthesis.
func (p *sparkParser) list() ([]*expr, error) {
	var items []*expr
	for {
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		if _, more := p.symbol(","); !more {
			return items, p.need(")")
		}
	}
}

func (p *sparkParser) sum() (*expr, error) { return p.chain(p.product, "+", "-") }

func (p *sparkParser) product() (*expr, error) { return p.chain(p.unary, "*", "%") }

func (p *sparkParser) chain(part func() (*expr, error), signs ...string) (*expr, error) {
	l, err := part()
	for err == nil {
		sign, ok := p.symbol(signs...)
		if !ok {
			break
		}
		var r *expr
		if r, err = part(); err == nil {
			l, err = p.b.arith(sign, l, r)
		}
	}
	return l, err
}

func (p *sparkParser) unary() (*expr, error) {
	if _, ok := p.symbol("-"); ok {
		if p.depth++; p.depth > maxDepth {
			return nil, invalid("it is nested deeper than %d", maxDepth)
		}
		defer func() { p.depth-- }()
		e, err := p.unary()
		if err != nil {
			return nil, err
		}
		return p.b.negate(e)
	}
	e, err := p.primary()
	for err == nil {
		if _, ok := p.symbol("::"); !ok {
			break
		}
		var t delta.DataType
		if t, err = p.typeName(); err == nil {
			e, err = p.b.cast(e, t)
		}
	}
	return e, err
}
