package constraint

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/constraint/sparktoken"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
)

func (p *sparkParser) primary() (*expr, error) {
	switch t := p.next(); t.Kind {
	case sparktoken.Text:
		return p.b.text(t.Text)
	case sparktoken.Number:
		return p.number(t.Text)
	case sparktoken.Name:
		return p.column(t.Text)
	case sparktoken.Quoted:
		// delta-rs quotes names that have other characters than lower-case letters, digits and _.
		if _, ok := p.b.schema.Field(t.Text); !ok || strings.Trim(t.Text, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
			return nil, invalid("a text in double quotes")
		}
		return p.column(t.Text)
	case sparktoken.Word:
		return p.named(t)
	case sparktoken.Symbol:
		if t.Text == "(" {
			e, err := p.or()
			if err != nil {
				return nil, err
			}
			return e, p.need(")")
		}
		return nil, invalid("%q where a value is needed", t.Text)
	}
	return nil, invalid("its end where a value is needed")
}

// named parses what begins with a word.
func (p *sparkParser) named(t sparktoken.Token) (*expr, error) {
	switch t.Text {
	case "null":
		return p.b.null(), nil
	case "true", "false":
		return p.b.boolean(t.Text == "true"), nil
	case "case":
		return p.caseWhen()
	case "date", "timestamp", "timestamp_ntz":
		if p.peek().Kind == sparktoken.Text {
			text, err := p.b.text(p.next().Text)
			if err != nil {
				return nil, err
			}
			return p.b.reread(text, delta.Primitive(t.Text))
		}
	case "cast":
		return p.castAs()
	case "extract":
		return p.extract()
	}
	if _, ok := p.symbol("("); !ok {
		return p.column(t.Name)
	}
	if _, ok := p.symbol(")"); ok {
		return nil, invalid("the function %.50q is not served here", t.Text)
	}
	args, err := p.list()
	if err != nil {
		return nil, err
	}
	return p.b.call(t.Text, args)
}

func (p *sparkParser) column(first string) (*expr, error) {
	path := []string{first}
	for {
		if _, ok := p.symbol("."); !ok {
			return p.b.column(path)
		}
		t := p.next()
		if t.Kind != sparktoken.Word && t.Kind != sparktoken.Name {
			return nil, invalid("a name after the point is missing")
		}
		path = append(path, t.Name)
	}
}

// number parses a constant. Only suffixes that do not change its type are accepted.
func (p *sparkParser) number(text string) (*expr, error) {
	if digits, ok := strings.CutSuffix(strings.ToUpper(text), "L"); ok && allDigits(digits) {
		e, err := p.b.number(digits)
		if err == nil && familyOf(e.typ) == famInt {
			e.typ = delta.Long
		}
		return e, err
	}
	if strings.ContainsAny(text, "eE") && allDigits(strings.NewReplacer("e", "", "E", "", ".", "", "-", "", "+", "").Replace(text)) {
		return p.b.double(text)
	}
	if !allDigits(strings.Replace(text, ".", "", 1)) {
		return nil, invalid("the number %.50s", text)
	}
	return p.b.number(text)
}

func (p *sparkParser) caseWhen() (*expr, error) {
	var args []*expr
	for p.word("when") {
		when, err := p.or()
		if err != nil {
			return nil, err
		}
		if !p.word("then") {
			return nil, invalid("WHEN without THEN")
		}
		then, err := p.or()
		if err != nil {
			return nil, err
		}
		args = append(args, when, then)
	}
	if len(args) == 0 {
		return nil, invalid("CASE without WHEN")
	}
	if p.word("else") {
		last, err := p.or()
		if err != nil {
			return nil, err
		}
		args = append(args, last)
	}
	if !p.word("end") {
		return nil, invalid("CASE without END")
	}
	return p.b.choose(args)
}

func (p *sparkParser) castAs() (*expr, error) {
	if err := p.need("("); err != nil {
		return nil, err
	}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.word("as") {
		return nil, invalid("CAST without AS")
	}
	t, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if err := p.need(")"); err != nil {
		return nil, err
	}
	return p.b.cast(e, t)
}

func (p *sparkParser) extract() (*expr, error) {
	if err := p.need("("); err != nil {
		return nil, err
	}
	part := p.next().Text
	if !p.word("from") {
		return nil, invalid("EXTRACT without FROM")
	}
	e, err := p.sum()
	if err != nil {
		return nil, err
	}
	if err := p.need(")"); err != nil {
		return nil, err
	}
	return p.b.part(part, e)
}

// typeName parses the name of a type that a cast may have.
func (p *sparkParser) typeName() (delta.DataType, error) {
	name := p.next().Text
	if name == "decimal" {
		text := name
		for _, part := range []string{"(", "", ",", "", ")"} {
			t := p.next()
			if part != "" && (t.Kind != sparktoken.Symbol || t.Text != part) || part == "" && t.Kind != sparktoken.Number {
				return nil, invalid("DECIMAL without digits")
			}
			text += t.Text
		}
		t, err := deltasql.ParseType(text)
		if err != nil {
			return nil, invalid("the type %.50s", text)
		}
		return t, nil
	}
	for t, spark := range sparkNames {
		if strings.EqualFold(name, spark) || name == string(t) {
			return t, nil
		}
	}
	return nil, invalid("the type %.50q", name)
}
