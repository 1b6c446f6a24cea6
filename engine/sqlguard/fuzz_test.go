package sqlguard_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/sqlguard"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// FuzzParse: no text makes the guard panic, and whatever it lets pass reads
// nothing but relations of ours when it is parsed again.
func FuzzParse(f *testing.F) {
	for _, s := range lines(f, "testdata/everyday.sql") {
		f.Add(s)
	}
	f.Add("EXPLAIN SELECT a.id, sum(amount) OVER () FROM a LEFT JOIN b USING (id) WHERE id IN (SELECT 1) GROUP BY ALL ORDER BY ALL LIMIT 3")
	for _, h := range hostile {
		if len(h.sql) < 1000 {
			f.Add(h.sql)
		}
	}
	columns := []engine.Column{{Name: "id", Type: sqltype.BigInt}, {Name: "name", Type: sqltype.Varchar},
		{Name: "amount", Type: sqltype.MustParse("DECIMAL(10,2)")},
		{Name: "placed", Type: sqltype.Timestamp}, {Name: "signup", Type: sqltype.Date}}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := parse(t, text)
		if err != nil {
			requireTyped(t, err)
			return
		}
		var relations []sqlguard.Relation
		for i, ref := range q.Tables() {
			relations = append(relations, sqlguard.Relation{Columns: columns, Source: source(ref.Name), Filtered: i%2 == 0,
				Predicate: `"t"."id" > 1`})
		}
		if q.Kind() == sqlguard.KindExplain {
			if _, err := q.Explain(t.Context(), sharedParser(), relations); err != nil {
				requireTyped(t, err)
			}
		}
		plan, err := q.Bind(t.Context(), sharedParser(), relations)
		if err != nil {
			requireTyped(t, err)
			return
		}
		again, err := parse(t, plan.SQL)
		if code := codeOf(err); code == refusal.CodeTooLarge || code == refusal.CodeTooComplex || code == refusal.CodeFunction &&
			strings.Contains(plan.SQL, `"error"(`) {
			return // our own guards and subqueries made it longer
		}
		require.NoError(t, err, plan.SQL)
		ours := map[string]bool{}
		for _, s := range plan.Sources {
			database, schema, table := s.Name()
			ours[database+"."+schema+"."+table] = true
		}
		for _, b := range plan.Barriers {
			ours["temp.main."+b.Name] = true
		}
		for _, ref := range again.Tables() {
			require.True(t, ours[ref.Catalog+"."+ref.Schema+"."+ref.Name], "%s reads %+v", plan.SQL, ref)
		}
	})
}

// requireTyped: errors are refusals of ours; texts that no parser takes are
// errors of the parser.
func requireTyped(t *testing.T, err error) {
	t.Helper()
	var refusal *refusal.Error
	var fault *engine.Error
	require.True(t, errors.As(err, &refusal) || errors.As(err, &fault), "%T %v", err, err)
	if refusal != nil {
		require.NotEmpty(t, refusal.Code)
		require.NotEmpty(t, refusal.Message)
	}
}
