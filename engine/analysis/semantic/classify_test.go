package semantic_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis"
	"github.com/lakewarden/lakewarden/engine/analysis/analysistest"
	"github.com/lakewarden/lakewarden/engine/analysis/semantic"
)

// people is a table with personal data under names that say nothing.
const people = `SELECT range AS a1, 'p' || range || '@mail.example.org' AS a2,
	format('({}) 555-{:04d}', 200 + range % 700, range % 10000) AS a3,
	CAST(uuid_of AS VARCHAR) AS a4,
	format('{:03d}-{:02d}-{:04d}', 100 + range % 500, 1 + range % 90, 1 + range % 9000) AS a5,
	['Ann', 'James', 'Maria', 'Robert', 'Linda', 'Zedekiah'][1 + range % 6] AS a6,
	format('{} Oak Street', 1 + range) AS a7, DATE '1950-01-01' + CAST(range * 37 % 18000 AS INTEGER) AS a8,
	['red', 'open', 'closed'][1 + range % 3] AS a9, format('10.{}.{}.{}', range % 200, range % 100, range % 250) AS a10
	FROM (SELECT range, md5(CAST(range AS VARCHAR)) AS h,
		substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4) || '-' || substr(h, 21, 12) AS uuid_of
		FROM range(500))`

func TestColumnsOfPersonsAreFoundByTheirValues(t *testing.T) {
	in := analysistest.New(t, people).Input(nil)
	answer, err := semantic.Classify(t.Context(), in)
	require.NoError(t, err)
	found := map[string]string{}
	for _, c := range answer.Result.(semantic.Classification).Columns {
		found[c.Column] = c.SemanticType
		require.Equal(t, semantic.Type(c.SemanticType).Personal(), c.PII)
		if c.PII {
			require.Empty(t, c.Examples, "no value of a person is shown")
		}
	}
	require.Equal(t, map[string]string{"a1": "identifier", "a2": "email", "a3": "phone", "a4": "uuid", "a5": "social_security_number",
		"a6": "first_name", "a7": "street_address", "a8": "date_of_birth", "a9": "category", "a10": "ip_address"}, found)
	masks := map[string]string{}
	for _, p := range answer.Proposals {
		c := p.Change.(analysis.MaskColumn)
		masks[c.Column] = c.Mask
		require.Equal(t, int64(500), *p.Effect.Rows)
	}
	require.Equal(t, map[string]string{"a2": "hash", "a3": "last4", "a5": "last4", "a6": "hash", "a7": "null", "a8": "year",
		"a10": "hash"}, masks)
}

func TestChecksumsDecide(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []string
		want   semantic.Type
	}{
		{"cards", []string{"4111 1111 1111 1111", "5500000000000004", "340000000000009"}, semantic.CreditCard},
		{"no cards", []string{"4111 1111 1111 1112", "5500000000000005", "340000000000008"}, semantic.Unknown},
		{"ibans", []string{"DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"}, semantic.IBAN},
		{"no ibans", []string{"DE89 3704 0044 0532 0130 01", "GB82WEST12345698765431"}, semantic.Unknown},
		{"currencies", []string{"EUR", "USD", "JPY", "CHF"}, semantic.CurrencyCode},
		{"countries", []string{"DE", "FR", "JP", "NZ", "ZA"}, semantic.CountryCode},
		{"states", []string{"CA", "TX", "NY", "WA", "OR"}, semantic.State},
		{"airports", []string{"JFK", "LGA", "EWR", "ATL"}, semantic.Code},
		{"urls", []string{"https://a.example/x", "www.b.example"}, semantic.URL},
		{"paths", []string{"/var/log/a.log", "/home/x/b.txt"}, semantic.FilePath},
		{"prose", []string{"The parcel came two days late again.", "Nobody answered when I called the shop."}, semantic.FreeText},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := semantic.Decide(semantic.EvidenceOf("c1", c.values))
			if c.want == semantic.Unknown {
				require.NotContains(t, []semantic.Type{semantic.CreditCard, semantic.IBAN}, got.Type)
				return
			}
			require.Equal(t, c.want, got.Type, got.Why)
		})
	}
}

func TestNamesDecideWhatValuesLeaveOpen(t *testing.T) {
	in := analysistest.New(t, `SELECT 20 + range % 60 AS age, 1 + range % 40 AS qty, round(range * 1.07, 2) AS unit_price,
		round(range * 1.07, 2) AS "weight kg", (range % 100) / 100.0::DOUBLE AS discount, 2000 + range % 20 AS model_year,
		-90 + (range * 17.123457) % 180 AS lat, -180 + (range * 31.654321) % 360 AS lng, range AS order_id FROM range(400)`).Input(nil)
	answer, err := semantic.Classify(t.Context(), in)
	require.NoError(t, err)
	found := map[string]string{}
	for _, c := range answer.Result.(semantic.Classification).Columns {
		found[c.Column] = c.SemanticType
	}
	require.Equal(t, map[string]string{"age": "age", "qty": "quantity", "unit_price": "amount", "weight kg": "measurement",
		"discount": "percentage", "model_year": "year", "lat": "latitude", "lng": "longitude", "order_id": "identifier"}, found)
	require.Empty(t, answer.Proposals)
}

func TestOddTablesAreClassified(t *testing.T) {
	for name, sql := range map[string]string{
		"empty":      `SELECT 1 AS a, 'x' AS b FROM range(0)`,
		"nulls":      `SELECT NULL::VARCHAR AS a, NULL::DOUBLE AS b FROM range(10)`,
		"long texts": `SELECT repeat('x', 100000) || range AS a, range AS b FROM range(20)`,
		"odd names":  `SELECT 'v' || range AS "a""b", [range] AS "select" FROM range(10)`,
	} {
		t.Run(name, func(t *testing.T) {
			in := analysistest.New(t, sql).Input(nil)
			answer, err := semantic.Classify(t.Context(), in)
			require.NoError(t, err)
			list := answer.Result.(semantic.Classification).Columns
			require.Len(t, list, 2)
			for _, c := range list {
				for _, example := range c.Examples {
					require.LessOrEqual(t, len(example), analysis.MaxText)
				}
			}
		})
	}
}

func TestManyColumnsAreClassified(t *testing.T) {
	var b strings.Builder
	for i := range analysistest.WideColumns() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("range + " + strings.Repeat("1", 1+i%3) + " AS c" + strings.Repeat("x", i))
	}
	in := analysistest.New(t, "SELECT "+strings.ReplaceAll(b.String(), "xxxxxxxxxx", "y")+" FROM range(50)").Input(nil)
	answer, err := semantic.Classify(t.Context(), in)
	require.NoError(t, err)
	require.Len(t, answer.Result.(semantic.Classification).Columns, analysistest.WideColumns())
}
