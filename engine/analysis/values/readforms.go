package values

import (
	"context"
	"errors"
	"strconv"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/cluster"
)

const (
	// maxForms bounds the distinct values of a column that are clustered, maxFormBytes their
	// length together.
	maxForms     = 2_000_000
	maxFormBytes = 128 << 20
)

// errEnough ends a statement whose further rows are not needed.
var errEnough = errors.New("enough rows")

// readForms returns the distinct short texts of a column, the most frequent first, and
// whether some are left out.
func readForms(ctx context.Context, in analysis.Input, c analysis.Column) (forms []cluster.Form, cut bool, err error) {
	size := 0
	err = in.Each(ctx, "SELECT v, n FROM "+grouped(in, c)+" ORDER BY n DESC, v LIMIT "+strconv.Itoa(maxForms+1), func(r engine.Row) error {
		text := r.Text(0)
		size += len(text)
		if len(forms) == maxForms || size > maxFormBytes {
			return errEnough
		}
		forms = append(forms, cluster.Form{Text: text, Rows: r.Int64(1)})
		return nil
	})
	if errors.Is(err, errEnough) {
		return forms, true, nil
	}
	return forms, false, err
}
