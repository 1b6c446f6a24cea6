package catalog_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/catalog"
)

// plainIdentifier matches identifiers that SQL accepts without quotes.
var plainIdentifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{
		"Sales":                                "sales",
		"Sales EU-2024":                        "sales_eu_2024",
		"2024":                                 "_2024",
		"Größe":                                "gr__e",
		"漢字":                                   "__",
		"lake":                                 "lake_",
		"Information_Schema":                   "information_schema_",
		"cfg_0123456789abcdef0123456789abcdef": "cfg_0123456789abcdef0123456789abcdef_",
	} {
		require.Equal(t, want, catalog.Slug(name), name)
	}
	rapid.Check(t, func(t *rapid.T) {
		slug := catalog.Slug(rapid.String().Draw(t, "name"))
		require.Regexp(t, plainIdentifier, slug)
		require.Equal(t, strings.ToLower(slug), slug)
		_, isID := catalog.ParseSchemaName(slug)
		require.False(t, isID, "a slug never reads as an id")
	})
}

func TestParseSchemaName(t *testing.T) {
	id := catalog.ConfigID("0b9f3c52-7d5e-4a0e-9d5a-2f6f8f1c1a11")
	require.Equal(t, "cfg_0b9f3c527d5e4a0e9d5a2f6f8f1c1a11", catalog.SchemaName(id))
	for _, schema := range []string{
		"cfg_0b9f3c527d5e4a0e9d5a2f6f8f1c1a11", "CFG_0B9F3C527D5E4A0E9D5A2F6F8F1C1A11",
		"cfg_0b9f3c52-7d5e-4a0e-9d5a-2f6f8f1c1a11",
	} {
		got, ok := catalog.ParseSchemaName(schema)
		require.True(t, ok, schema)
		require.Equal(t, id, got)
	}
	for _, schema := range []string{
		"", "cfg_", "sales", "cfg_0b9f3c527d5e4a0e9d5a2f6f8f1c1a1", "cfg_0b9f3c527d5e4a0e9d5a2f6f8f1c1a1g",
		"cfg_{0b9f3c52-7d5e-4a0e-9d5a-2f6f8f1c1a11}", "cfg_urn:uuid:0b9f3c52-7d5e-4a0e-9d5a-2f6f8f1c1a11",
		"xfg_0b9f3c527d5e4a0e9d5a2f6f8f1c1a11", "cfg_0b9f3c527-d5e4a0e9d5a2f6f8f1c1a11-----",
	} {
		_, ok := catalog.ParseSchemaName(schema)
		require.False(t, ok, schema)
	}
	rapid.Check(t, func(t *rapid.T) {
		id := catalog.NewID[catalog.ConfigID]()
		got, ok := catalog.ParseSchemaName(catalog.SchemaName(id))
		require.True(t, ok)
		require.Equal(t, id, got)
	})
}

func TestPathName(t *testing.T) {
	for path, want := range map[string]string{
		"":             "root",
		"orders":       "orders",
		"eu/orders":    "eu__orders",
		"eu/Orders.v2": "eu__Orders_v2",
		"2024/orders":  "_2024__orders",
		"a b/c-d":      "a_b__c_d",
		"größe":        "gr__e",
		"2024-01":      "_2024_01",
	} {
		require.Equal(t, want, catalog.PathName(path, "root"), path)
	}
}

// TestFreeName checks that every table of a configuration gets a unique name that SQL
// accepts without quotes, whatever the paths, and that a name without a collision does
// not depend on the other tables.
func TestFreeName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segment := rapid.StringOfN(rapid.RuneFrom([]rune("aA_- é1")), 1, 3, -1)
		paths := rapid.SliceOfN(rapid.SliceOfN(segment, 0, 3), 1, 12).Draw(t, "paths")
		shared := catalog.DeltaID(catalog.NewID[catalog.TableID]())
		taken := map[string]bool{}
		for _, parts := range paths {
			path := strings.Join(parts, "/")
			free := !taken[catalog.FoldName(catalog.PathName(path, "slug"))]
			name := catalog.FreeName(path, "slug", shared, catalog.NewID[catalog.TableID](), func(folded string) bool { return taken[folded] })
			require.Regexp(t, plainIdentifier, name)
			require.False(t, taken[catalog.FoldName(name)], "%q is taken", name)
			require.NoError(t, catalog.ValidateTableName("name", name))
			if free {
				require.Equal(t, catalog.PathName(path, "slug"), name)
			} else {
				require.True(t, strings.HasPrefix(name, catalog.PathName(path, "slug")+"_"))
			}
			taken[catalog.FoldName(name)] = true
		}
	})
	long := strings.Repeat("long/", 200) + "end"
	always := func(string) bool { return true }
	require.NoError(t, catalog.ValidateTableName("name", catalog.FreeName(long, "s", "d", catalog.NewID[catalog.TableID](), always)))
}

func TestFoldNameFoldsASCIIOnly(t *testing.T) {
	require.Equal(t, "abcÄ_1", catalog.FoldName("aBCÄ_1"))
}

// TestLocationOverlap compares Overlaps with its definition: the segments of one
// location are a prefix of those of the other.
func TestLocationOverlap(t *testing.T) {
	segments := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "b"}), 0, 4)
	prefix := func(a, b []string) bool {
		return len(a) <= len(b) && strings.Join(a, "/") == strings.Join(b[:len(a)], "/")
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := segments.Draw(t, "a"), segments.Draw(t, "b")
		la, lb := catalog.NewLocation("s3", strings.Join(a, "/")), catalog.NewLocation("s3", b...)
		require.Equal(t, prefix(a, b) || prefix(b, a), la.Overlaps(lb), "%s %s", la, lb)
		require.Equal(t, la.Overlaps(lb), lb.Overlaps(la))
	})
	require.Equal(t, catalog.Location("file:///srv/data/"), catalog.NewLocation("file", "/srv//data/"))
	require.False(t, catalog.NewLocation("s3", "a").Overlaps(catalog.NewLocation("gs", "a")))
}
