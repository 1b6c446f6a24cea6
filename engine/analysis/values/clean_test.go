package values_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
)

// cleanTables are tables of four businesses without any defect.
func cleanTables(r *rand.Rand, n int) map[string]string {
	text := func(name string, f func(int) string) string { return list(name, "VARCHAR", repeated(n, f)) }
	typed := func(name, kind string, f func(int) string) string { return list(name, kind, repeated(n, f)) }
	amount := func(f func() float64) func(int) string {
		return func(int) string { return strconv.FormatFloat(f(), 'f', 2, 64) }
	}
	one := func(from ...string) func(int) string {
		return func(int) string { return from[min(r.IntN(len(from)), r.IntN(len(from)))] }
	}
	day := func(first, years int) func(int) string {
		return func(int) string { return fmt.Sprintf("%d-%02d-%02d", first+r.IntN(years), 1+r.IntN(12), 1+r.IntN(28)) }
	}
	seldom := func(part float64, f func(int) string) func(int) string {
		return func(i int) string {
			if r.Float64() < part {
				return "\x00"
			}
			return f(i)
		}
	}
	return map[string]string{
		"customers": strings.Join([]string{
			typed("id", "BIGINT", func(i int) string { return strconv.Itoa(i + 1) }),
			text("first_name", one(firstNames...)), text("last_name", one(lastNames...)),
			text("email", func(i int) string {
				return strings.ToLower(firstNames[r.IntN(60)]+"."+lastNames[r.IntN(90)]) + strconv.Itoa(i) + "@mail.example.org"
			}),
			text("phone", seldom(0.1, func(int) string { return fmt.Sprintf("+49 %d %06d", 30+r.IntN(900), r.IntN(1_000_000)) })),
			text("country", one(countryCodes...)), text("city", one(cities...)),
			text("zip", func(int) string { return fmt.Sprintf("%05d", 1000+r.IntN(98000)) }),
			typed("born", "DATE", seldom(0.05, day(1935, 70))), typed("children", "INTEGER", func(int) string { return strconv.Itoa(r.IntN(4)) }),
			text("newsletter", one("none", "weekly", "daily")), text("notes", seldom(0.7, func(int) string {
				return strings.Join(repeated(12, func(int) string { return lastNames[r.IntN(40)] }), " ")
			})),
		}, ", "),
		"orders": strings.Join([]string{
			text("order", func(i int) string { return fmt.Sprintf("ORD-%07d", i) }),
			typed("customer", "INTEGER", func(int) string { return strconv.Itoa(1 + r.IntN(n/3)) }),
			typed("ordered", "TIMESTAMP", func(i int) string { return day(2019, 5)(i) + fmt.Sprintf(" %02d:%02d:00", r.IntN(24), r.IntN(60)) }),
			typed("delivered", "DATE", seldom(0.2, day(2019, 5))), text("status", one("delivered", "shipped", "returned", "cancelled", "missing")),
			typed("quantity", "INTEGER", func(int) string { return strconv.Itoa(1 + r.IntN(10)) }),
			typed("price", "DECIMAL(10,2)", amount(func() float64 { return 3 + 60*r.ExpFloat64() })),
			typed("discount", "DOUBLE", amount(func() float64 { return max(0, r.Float64()-0.5) })),
			text("currency", one("EUR", "USD", "GBP", "CHF", "SEK")), text("sku", func(int) string {
				return fmt.Sprintf("%c%c-%04d", 'A'+r.IntN(26), 'A'+r.IntN(26), r.IntN(10000))
			}), typed("balance", "INTEGER", func(int) string { return strconv.Itoa(int(r.NormFloat64() * 40)) }),
		}, ", "),
		"sensors": strings.Join([]string{
			typed("at", "TIMESTAMP", func(i int) string { return fmt.Sprintf("2024-%02d-%02d %02d:00:00", 1+i/28/24%12, 1+i/24%28, i%24) }),
			text("station", one("North 1", "North 2", "South 1", "South 2", "East", "West", "Seat")),
			typed("temperature", "DOUBLE", amount(func() float64 { return r.NormFloat64()*9 + 8 })),
			typed("delta", "INTEGER", func(int) string { return strconv.Itoa(r.IntN(7) - 3) }),
			typed("rain", "DOUBLE", amount(func() float64 { return max(0, r.NormFloat64()) })),
			typed("pressure", "DOUBLE", amount(func() float64 { return 1013 + r.NormFloat64()*8 })),
			typed("wind", "INTEGER", func(int) string { return strconv.Itoa(int(r.ExpFloat64() * 12)) }),
			typed("error", "INTEGER", one("0", "0", "0", "-1", "3", "99")), text("grade", one("A", "A-", "B+", "B", "B-", "C")),
			text("quality", one("Good", "Fair", "Poor", "None")),
		}, ", "),
		"employees": strings.Join([]string{
			text("name", func(int) string { return firstNames[r.IntN(len(firstNames))] + " " + lastNames[r.IntN(len(lastNames))] }),
			text("title", one("Engineer", "Engineering Manager", "Sales Manager", "Sales Representative", "Analyst", "Analyst II", "Analyst III",
				"Trainer", "Trainee", "Director", "Accountant", "Account Manager")),
			text("department", one("Sales", "Engineering", "Finance", "Human Resources", "Operations", "Corporate", "Cooperation")),
			typed("salary", "DECIMAL(10,2)", amount(func() float64 { return 30_000 + 9_000*r.ExpFloat64() })),
			typed("hired", "DATE", day(1995, 29)), typed("left", "DATE", seldom(0.8, day(2005, 19))),
			text("language", one("C", "C++", "C#", "Go", "Java", "JavaScript", "Python")),
			text("blood", one("A+", "A-", "B+", "B-", "0+", "0-", "AB+", "AB-")), text("answer", one("yes", "no", "unknown")),
			typed("floor", "INTEGER", one("-2", "-1", "0", "1", "2", "3", "4", "5", "6")),
			text("room", func(int) string {
				return fmt.Sprintf("%d.%02d%s", r.IntN(6), r.IntN(30), []string{"", "a", "b"}[r.IntN(3)])
			}),
		}, ", "),
	}
}

func TestCleanTablesGetNoProposalsToChangeRows(t *testing.T) {
	for seed := range uint64(3) {
		for name, columns := range cleanTables(source(100+seed), 3000) {
			in := analysistest.New(t, "SELECT "+columns).Input(nil)
			for _, action := range []string{"fix_nulls", "standardize_values"} {
				a := all[action](t, in)
				verify(t, in, a)
				require.Empty(t, titles(a), "%s of %s %d", action, name, seed)
			}
		}
	}
}

func TestDomainsOfCleanTablesAreTrue(t *testing.T) {
	expected := map[string][]string{
		"customers": {"children", "city", "country", "email", "newsletter", "zip", "phone"},
		"orders":    {"currency", "discount", "order", "sku", "status"},
		"sensors":   {"error", "grade", "quality", "rain", "station", "wind"},
		"employees": {"answer", "blood", "department", "language", "title"},
	}
	for seed := range uint64(2) {
		for name, columns := range cleanTables(source(200+seed), 3000) {
			in := analysistest.New(t, "SELECT "+columns).Input(nil)
			_, a := domains(t, in)
			for _, p := range a.Proposals {
				require.Contains(t, expected[name], p.Columns[0], "%s: %s", name, p.Title)
				require.Zero(t, *p.Effect.Violations, p.Title)
			}
		}
	}
}

func titles(a analysis.Answer) []string {
	var out []string
	for _, p := range a.Proposals {
		out = append(out, p.Title)
	}
	return out
}
