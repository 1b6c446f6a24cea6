package sqlfilter_test

import (
	"database/sql"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
)

// openRows makes a DuckDB table that holds rows() with a row number.
func openRows(t *testing.T, all []row) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	defs := []string{"rid INTEGER"}
	for _, c := range columns {
		defs = append(defs, engine.QuoteIdent(c.Name)+" "+c.Type.String())
	}
	_, err = db.Exec("CREATE TABLE rows (" + strings.Join(defs, ", ") + ")")
	require.NoError(t, err)
	for i, r := range all {
		values := []string{fmt.Sprint(i)}
		for _, c := range columns {
			values = append(values, sqlValue(r[c.Name], c.Type.String()))
		}
		_, err := db.Exec("INSERT INTO rows VALUES (" + strings.Join(values, ", ") + ")")
		require.NoError(t, err)
	}
	return db
}

func sqlValue(v any, typ string) string {
	switch v := v.(type) {
	case string:
		return engine.QuoteString(v)
	case bool:
		return fmt.Sprint(v)
	case *big.Rat:
		return "CAST('" + v.FloatString(2) + "' AS DECIMAL(38,2))::" + typ
	case time.Time:
		return "CAST('" + v.Format("2006-01-02 15:04:05.000") + strings.Repeat("+00", strings.Count(typ, "ZONE")) + "' AS " + typ + ")"
	}
	return "NULL"
}

// query returns the numbers of the rows that a filter lets through.
func query(db *sql.DB, f sqlfilter.Filter) ([]int, error) {
	where := ""
	if f.Restricted {
		where = " WHERE " + f.Predicate
	}
	rows, err := db.Query(`SELECT rid FROM rows AS "t"` + where + " ORDER BY rid")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := []int{}
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, rows.Err()
}

// compileAll renders and compiles definitions; typed renders with columns.
func compileAll(defs []bound, w world, typed bool) (sqlfilter.Filter, []string, error) {
	var policies []sqlfilter.Policy
	var texts []string
	for i, d := range defs {
		text, err := policy.Render(d.def, d.column, policy.KindRLS, nil)
		if err != nil {
			return sqlfilter.Filter{}, nil, err
		}
		if typed {
			if exact, err := policy.Render(d.def, d.column, policy.KindRLS, w.columns); err == nil {
				text = exact
			}
		}
		texts = append(texts, text)
		policies = append(policies, sqlfilter.Policy{ID: fmt.Sprint(i), Kind: policy.KindRLS, Text: text, Reading: policy.ReadNotation})
	}
	f, err := sqlfilter.Compile(sqlfilter.Request{
		Policies: policies, Columns: w.columns, Alias: "t",
		Principal: sqlfilter.Principal{UserID: "u1", Role: w.role, Attributes: w.attrs},
	})
	return f, texts, err
}

// scenario draws policies that are valid for all tables, and a user.
func scenario(t *rapid.T) ([]bound, world) {
	var defs []bound
	for len(defs) < rapid.IntRange(1, 3).Draw(t, "policies") {
		d := definition(t)
		if d.def.Validate(policy.KindRLS, d.column, nil) != nil {
			d.def.Condition, d.def.Subject = nil, policy.Subject{Everyone: ptr(true)}
			d.def.Condition = ptr(test(t))
			if d.def.Validate(policy.KindRLS, d.column, nil) != nil {
				continue
			}
		}
		defs = append(defs, d)
	}
	role := rapid.SampledFrom([]string{"analyst", "admin", `ro"le`, ""}).Draw(t, "role")
	return defs, world{columns: columns, role: role, attrs: attributes(t)}
}

// The compiled SQL shows exactly the rows that the oracle shows, and no others if a permit tests a
// column of another type.
func TestSQLMatchesOracle(t *testing.T) {
	all := rows()
	db := openRows(t, all)
	partly, exactly := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			defs, w := scenario(rt)
			want := []int{}
			w.mistyped = new(bool)
			for i, r := range all {
				if w.visible(defs, r) {
					want = append(want, i)
				}
			}
			if len(want) > 0 && len(want) < len(all) {
				partly++
			}
			for _, typed := range []bool{false, true} {
				f, texts, err := compileAll(defs, w, typed)
				require.NoError(rt, err, "%s", texts)
				got, err := query(db, f)
				require.NoError(rt, err, f.Predicate)
				if about := fmt.Sprintf("texts %s\nattributes %v role %q\npredicate %s", texts, w.attrs, w.role, f.Predicate); *w.mistyped {
					require.Subset(rt, want, got, about)
				} else {
					exactly++
					require.Equal(rt, want, got, about)
				}
				require.Equal(rt, f.Deny, f.Predicate == "FALSE")
				for _, i := range got {
					require.True(rt, satisfies(w.columns, f.Condition, all[i]), "row %d %v\npredicate %s\ncondition %+v", i, all[i], f.Predicate,
						f.Condition)
				}
				for i, r := range all {
					if f.Restricted && satisfies(w.columns, f.Assured, r) {
						require.Contains(rt, want, i, "row %d %v\npredicate %s\nassured %+v", i, r, f.Predicate, f.Assured)
					}
				}
			}
		}
	})
	require.Greater(t, partly, 100, "the scenarios must select some rows and leave some")
	require.Greater(t, exactly, 300)
}
