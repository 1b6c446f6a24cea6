package analysis

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

// errRefused rolls back the transaction of a count that has reached its limit.
var errRefused = errors.New("limit of analyses reached")

// CountAnalysis implements [catalog.AnalysisUses].
func (s *Store) CountAnalysis(ctx context.Context, org catalog.OrgID, limit int, window time.Duration) (wait time.Duration, err error) {
	if limit <= 0 || window <= 0 {
		return 0, nil
	}
	now := sqldb.Micros(s.db.Clock())
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, org); err != nil {
			return err
		}
		// The row stays locked until the end of the transaction.
		begun, err := sqldb.One(ctx, tx, func(r sqldb.Row) (begun []int64, err error) {
			err = r.Scan(sqldb.JSON(&begun))
			return begun, err
		}, `INSERT INTO analysis_rates (org_id, begun, last_at) VALUES (?, '[]', ?)
			ON CONFLICT (org_id) DO UPDATE SET last_at = excluded.last_at RETURNING begun`, org, now)
		if err != nil {
			return err
		}
		begun = slices.DeleteFunc(begun, func(at int64) bool { return at <= now-window.Microseconds() })
		slices.Sort(begun)
		if len(begun) >= limit {
			wait = time.Duration(begun[len(begun)-limit]-now)*time.Microsecond + window
			wait = min(wait, window) // the clock of another replica may be ahead
			return errRefused
		}
		_, err = tx.Exec(ctx, "UPDATE analysis_rates SET begun = ? WHERE org_id = ?", sqldb.JSONText(append(begun, now)), org)
		return err
	})
	if errors.Is(err, errRefused) {
		return wait, nil
	}
	return 0, err
}

// dayOf returns the number of the day of a time since the Unix epoch, in UTC.
func dayOf(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

func scanUse(r sqldb.Row) (u catalog.AnalysisUse, err error) {
	err = r.Scan(&u.InputTokens, &u.OutputTokens, &u.CostMicros)
	return u, err
}

// AddAnalysisUse implements [catalog.AnalysisUses].
func (s *Store) AddAnalysisUse(
	ctx context.Context, org catalog.OrgID, day time.Time, use catalog.AnalysisUse,
) (sum catalog.AnalysisUse, err error) {
	if err := use.Validate(); err != nil {
		return sum, err
	}
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		if err := sqldb.RequireOrg(ctx, tx, org); err != nil {
			return err
		}
		sum, err = sqldb.One(ctx, tx, scanUse, `INSERT INTO analysis_use (org_id, day, input_tokens, output_tokens, cost_micros)
			VALUES (?, ?, ?, ?, ?) ON CONFLICT (org_id, day) DO UPDATE SET
			input_tokens = analysis_use.input_tokens + excluded.input_tokens,
			output_tokens = analysis_use.output_tokens + excluded.output_tokens,
			cost_micros = analysis_use.cost_micros + excluded.cost_micros
			RETURNING input_tokens, output_tokens, cost_micros`,
			org, dayOf(day), use.InputTokens, use.OutputTokens, use.CostMicros)
		return err
	})
	return sum, err
}

// AnalysisUse implements [catalog.AnalysisUses].
func (s *Store) AnalysisUse(ctx context.Context, org catalog.OrgID, day time.Time) (catalog.AnalysisUse, error) {
	return sqldb.One(ctx, s.db.Read(), scanUse, `SELECT COALESCE(u.input_tokens, 0), COALESCE(u.output_tokens, 0),
		COALESCE(u.cost_micros, 0) FROM organisations g LEFT JOIN analysis_use u ON u.org_id = g.id AND u.day = ?
		WHERE g.id = ? AND g.deleted_at IS NULL`, dayOf(day), org)
}

// ForgetAnalysisUse implements [catalog.AnalysisUses].
func (s *Store) ForgetAnalysisUse(ctx context.Context, before time.Time) (forgotten int64, err error) {
	err = s.db.Transact(ctx, func(tx sqldb.Session) error {
		days, err := tx.Exec(ctx, "DELETE FROM analysis_use WHERE day < ?", dayOf(before))
		if err != nil {
			return err
		}
		rates, err := tx.Exec(ctx, "DELETE FROM analysis_rates WHERE last_at < ?", sqldb.Micros(before))
		forgotten = days + rates
		return err
	})
	return forgotten, err
}
