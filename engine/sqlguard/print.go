package sqlguard

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// printTree turns a statement into SQL.
func printTree(ctx context.Context, parser engine.Parser, stmt *node) (string, error) {
	return parser.Deserialize(ctx, encode(nil, document(stmt)))
}

// printExpressions prints each expression as DuckDB names it. All are printed
// as one select list with aliases that occur nowhere in the statement.
func printExpressions(ctx context.Context, parser engine.Parser, exprs []*node, text string) ([]string, error) {
	mark := "lw_mark"
	for strings.Contains(strings.ToLower(text), mark) {
		mark += "_"
	}
	w := namer{text: text, mark: mark}
	list := make([]any, len(exprs))
	for i, e := range exprs {
		c := e.clone()
		w.restore(c)
		c.set("alias", fmt.Sprintf("%s%d", mark, i))
		list[i] = c
	}
	sql, err := printTree(ctx, parser, statementNode(selectNode(list, emptyFrom())))
	if err != nil {
		return nil, unprintable(ctx, err)
	}
	out := make([]string, len(exprs))
	rest, ok := strings.CutPrefix(sql, "SELECT ")
	for i := range exprs {
		var found bool
		out[i], rest, found = strings.Cut(rest, fmt.Sprintf(" AS %s%d", mark, i))
		out[i], rest = w.unmark(out[i]), strings.TrimPrefix(rest, ", ")
		ok = ok && found
	}
	if !ok || rest != "" {
		return nil, refuse(CodePrinter, "", "a result column could not be named; give the columns aliases")
	}
	return out, nil
}

// unprintable maps the parser's refusal to print a tree.
func unprintable(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, engine.ErrInterrupted) || errors.Is(err, engine.ErrFatal) {
		return err
	}
	var e *engine.Error
	if errors.As(err, &e) && e.Class == "too_long" {
		return refuse(CodeTooLarge, "", "the statement is too long once its tables are resolved")
	}
	return refuse(CodePrinter, "", "the statement cannot be passed on unchanged")
}
