package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
)

// sparkDefault parses the default that a caller gives a column of type t and returns
// it in Spark's SQL, as the log holds it. The default NULL is returned as "", because
// a column without a default has it too. An error about the text names field.
func sparkDefault(ctx context.Context, parser engine.Parser, field string, t delta.DataType, text string) (string, error) {
	d, err := constraint.ParseDefault(ctx, parser, t, text)
	var refused *constraint.CheckError
	switch {
	case errors.As(err, &refused):
		return "", catalog.FieldErrors{{Field: field, Message: "must be a constant in SQL that the column's type holds exactly: " +
			refused.Message}}
	case err != nil || d.IsNull():
		return "", err
	}
	return d.Spark(), nil
}

// markDefaults sets the defaults of the columns of a new table.
func (o Files) markDefaults(ctx context.Context, columns []ColumnDefinition, options *delta.CreateOptions) error {
	var broken catalog.FieldErrors
	for i, c := range columns {
		if c.Default == "" {
			continue
		}
		f := &options.Schema.Fields[i]
		spark, err := sparkDefault(ctx, o.Parser, fmt.Sprintf("columns[%d].default", i), f.Type, c.Default)
		var refused catalog.FieldErrors
		switch {
		case errors.As(err, &refused):
			broken = append(broken, refused...)
		case err != nil:
			return err
		case spark != "":
			*f = f.WithDefault(spark)
		}
	}
	if len(broken) > 0 {
		return broken
	}
	return nil
}

// setDefault changes the default of a column; NULL removes it.
func setDefault(ctx context.Context, parser engine.Parser, alter *delta.Alteration, column string, text *string) error {
	if text == nil {
		return alter.DropDefault(column)
	}
	f, _ := alter.Schema().Field(column)
	spark, err := sparkDefault(ctx, parser, "default", f.Type, *text)
	switch {
	case err != nil:
		return err
	case spark == "":
		return alter.DropDefault(column)
	}
	return alter.SetDefault(column, spark)
}
