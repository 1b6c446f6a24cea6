package printer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// Print returns a statement as SQL.
func Print(ctx context.Context, parser engine.Parser, stmt *sqltree.Node) (string, error) {
	return parser.Deserialize(ctx, sqltree.Encode(nil, sqltree.Document(stmt)))
}

// Names returns the name that DuckDB gives to each expression as a result column. All are
// printed as one select list with aliases that do not occur in the statement.
func Names(ctx context.Context, parser engine.Parser, exprs []*sqltree.Node, text string) ([]string, error) {
	mark := "lw_mark"
	for strings.Contains(strings.ToLower(text), mark) {
		mark += "_"
	}
	w := namer{text: text, mark: mark}
	list := make([]any, len(exprs))
	for i, e := range exprs {
		c := e.Clone()
		w.restore(c)
		c.Set("alias", fmt.Sprintf("%s%d", mark, i))
		list[i] = c
	}
	sql, err := Print(ctx, parser, sqltree.Statement(sqltree.Select(list, sqltree.EmptyFrom())))
	if err != nil {
		return nil, Unprintable(ctx, err)
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
		return nil, refusal.New(refusal.CodePrinter, "", "a result column could not be named; give the columns aliases")
	}
	return out, nil
}

// Unprintable converts an error of the parser or printer into a refusal. Interrupts and
// fatal errors are returned unchanged.
func Unprintable(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, engine.ErrInterrupted) || errors.Is(err, engine.ErrFatal) {
		return err
	}
	var e *engine.Error
	if errors.As(err, &e) && e.Class == "too_long" {
		return refusal.New(refusal.CodeTooLarge, "", "the statement is too long once its tables are resolved")
	}
	return refusal.New(refusal.CodePrinter, "", "the statement cannot be passed on unchanged")
}
