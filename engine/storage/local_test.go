package storage_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/storage"
)

const org = "0b8f4e9c-5d1a-4c39-9a52-000000000001"

func TestLocalRootsResolve(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	at := func(parts ...string) string { return filepath.Join(append([]string{base}, parts...)...) }
	for _, dir := range []string{"lake/a", "lake2", "second", "secret"} {
		require.NoError(t, os.MkdirAll(at(dir), 0o755))
	}
	require.NoError(t, os.WriteFile(at("lake", "file"), nil, 0o644))
	for link, target := range map[string]string{
		"lake/out": "../secret", "lake/in": "a", "lake/dangling": at("secret", "later"), "lake/loop": "loop",
		"alias": "lake", "lake/second": "../second",
	} {
		require.NoError(t, os.Symlink(target, at(link)))
	}
	roots := storage.LocalRoots{Allowed: []string{"", at("alias"), at("second"), at("missing")}}
	for name, test := range map[string]struct {
		root string
		want string
		err  error
	}{
		"existing":                  {at("lake/a"), at("lake/a"), nil},
		"the allowed root":          {at("lake"), at("lake"), nil},
		"through the alias":         {at("alias/a/new/er"), at("lake/a/new/er"), nil},
		"slashes":                   {at("lake") + "//a/./b/", at("lake/a/b"), nil},
		"organisation":              {at("lake") + "/{org}/x-{org}", at("lake", org, "x-"+org), nil},
		"link inside":               {at("lake/in/new"), at("lake/a/new"), nil},
		"link to another root":      {at("lake/second/new"), at("second/new"), nil},
		"below a root that is none": {at("missing/x"), at("missing/x"), nil},
		"outside":                   {at("secret"), "", storage.ErrRootNotAllowed},
		"sibling of like name":      {at("lake2/x"), "", storage.ErrRootNotAllowed},
		"parent":                    {base, "", storage.ErrRootNotAllowed},
		"file system root":          {"/", "", storage.ErrRootNotAllowed},
		"link outside":              {at("lake/out"), "", storage.ErrRootNotAllowed},
		"below link outside":        {at("lake/out/new"), "", storage.ErrRootNotAllowed},
		"dangling link":             {at("lake/dangling"), "", storage.ErrRootNotAllowed},
		"below dangling link":       {at("lake/dangling/x"), "", storage.ErrRootNotAllowed},
		"loop":                      {at("lake/loop/x"), "", storage.ErrRootNotAllowed},
		"file":                      {at("lake/file"), "", storage.ErrRootNotAllowed},
		"below file":                {at("lake/file/x"), "", storage.ErrRootNotAllowed},
		"dots":                      {at("lake") + "/../secret", "", storage.ErrRootInvalid},
		"dots that stay":            {at("lake") + "/in/../a", "", storage.ErrRootInvalid},
		"relative":                  {"lake/a", "", storage.ErrRootInvalid},
		"empty":                     {"", "", storage.ErrRootInvalid},
		"placeholder":               {at("lake") + "/{user}", "", storage.ErrRootInvalid},
		"broken placeholder":        {at("lake") + "/{org", "", storage.ErrRootInvalid},
		"nul":                       {at("lake") + "/a\x00b", "", storage.ErrRootInvalid},
		"not text":                  {at("lake") + "/a\xff", "", storage.ErrRootInvalid},
	} {
		got, err := roots.Resolve(test.root, org)
		require.ErrorIs(t, err, test.err, name)
		require.Equal(t, test.want, got, name)
		if err != nil {
			require.NotContains(t, err.Error(), base, name)
		}
	}
	for _, id := range []string{"", "..", "../x", "a/b", ".", "a b", "{org}"} {
		_, err := roots.Resolve(at("lake")+"/{org}", id)
		require.ErrorIs(t, err, storage.ErrRootInvalid, "%q", id)
	}
	_, err = storage.LocalRoots{}.Resolve(at("lake"), org)
	require.ErrorIs(t, err, storage.ErrRootNotAllowed)

	// What is outside looks the same whether it exists or not.
	_, exists := roots.Resolve(at("secret"), org)
	_, missing := roots.Resolve(at("secret", "missing"), org)
	_, notFolder := roots.Resolve("/etc/passwd/x", org)
	require.Equal(t, exists, missing)
	require.Equal(t, exists, notFolder)
}

func TestOverlaps(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"/a/b", "/a/b", true},
		{"/a/b", "/a/b/", true},
		{"/a", "/a/b/c", true},
		{"/a/b", "/a/bc", false},
		{"/a/b", "/a/c", false},
		{"/", "/a", true},
		{"/A", "/a", false},
		{"s3://bucket", "s3://bucket/p", true},
		{"s3://bucket/p", "s3://bucket/p2", false},
		{"s3://bucket", "s3://bucket2", false},
		{"s3://bucket/p", "gs://bucket/p", false},
	} {
		require.Equal(t, test.want, storage.Overlaps(test.a, test.b), "%q %q", test.a, test.b)
		require.Equal(t, test.want, storage.Overlaps(test.b, test.a), "%q %q", test.b, test.a)
	}
}

// TestOverlapsProperty compares with lists of segments.
func TestOverlapsProperty(t *testing.T) {
	segments := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "a b", "é"}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := segments.Draw(t, "a"), segments.Draw(t, "b")
		want := true
		for i := range min(len(a), len(b)) {
			want = want && a[i] == b[i]
		}
		path := func(s []string) string { return "/" + filepath.Join(s...) }
		require.Equal(t, want, storage.Overlaps(path(a), path(b)), "%q %q", a, b)
	})
}
