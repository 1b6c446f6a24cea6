package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/printer"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqlguard/sqltext"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// lines appends the lines of the operator and its inputs.
func (o *operator) lines(texts []string, depth int, out *[]string) {
	if o == nil {
		return
	}
	var line strings.Builder
	line.WriteString(strings.Repeat("  ", depth))
	for _, p := range o.pieces {
		switch {
		case p.expr == 0:
			line.WriteString(p.text)
		case p.closed:
			line.WriteString(texts[p.expr-1])
		default:
			line.WriteString(unwrap(texts[p.expr-1]))
		}
	}
	*out = append(*out, line.String())
	for _, in := range o.inputs {
		in.lines(texts, depth+1, out)
	}
}

// printPieces prints each expression with its alias. All are printed as one select list,
// separated by a mark that does not occur in the statement.
func printPieces(ctx context.Context, parser engine.Parser, exprs []*sqltree.Node, text string) ([]string, error) {
	if len(exprs) == 0 {
		return nil, nil
	}
	mark := "lw_mark"
	for strings.Contains(strings.ToLower(text), mark) {
		mark += "_"
	}
	list := make([]any, 0, 2*len(exprs))
	for _, e := range exprs {
		list = append(list, e, sqltree.Text(mark))
	}
	sql, err := printer.Print(ctx, parser, sqltree.Statement(sqltree.Select(list, sqltree.EmptyFrom())))
	if err != nil {
		return nil, printer.Unprintable(ctx, err)
	}
	rest, ok := strings.CutPrefix(sql, "SELECT ")
	out := strings.Split(rest, fmt.Sprintf(", '%s'", mark))
	if !ok || len(out) != len(exprs)+1 {
		return nil, refusal.New(refusal.CodePrinter, "", "the plan cannot be printed")
	}
	out = out[:len(exprs)]
	for i := range out {
		out[i] = strings.TrimPrefix(out[i], ", ")
	}
	return out, nil
}

// unwrap removes parentheses that enclose the whole expression.
func unwrap(s string) string {
	if len(s) < 2 || s[0] != '(' || s[len(s)-1] != ')' {
		return s
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\'', '"':
			i = sqltext.SkipQuoted(s, i, c, false) - 1
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 && i < len(s)-1 {
				return s
			}
		}
	}
	inner := s[1 : len(s)-1]
	if strings.HasPrefix(strings.ToUpper(inner), "SELECT ") {
		return s
	}
	return inner
}
