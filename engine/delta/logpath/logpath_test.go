package logpath_test

import (
	"math"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

func TestParse(t *testing.T) {
	const v = "_delta_log/00000000000000000012"
	const id = "80a083e8-7026-4e79-81be-64bd76c43a11"
	rows := map[string]logpath.File{
		v + ".json":               {Kind: logpath.Commit, Version: 12},
		v + ".crc":                {Kind: logpath.Checksum, Version: 12},
		v + ".checkpoint.parquet": {Kind: logpath.Checkpoint, Version: 12},
		v + ".checkpoint.0000000002.0000000003.parquet": {Kind: logpath.Multipart, Version: 12, Part: 2, Parts: 3},
		v + ".checkpoint." + id + ".parquet":            {Kind: logpath.V2, Version: 12, UUID: id},
		v + ".checkpoint." + id + ".json":               {Kind: logpath.V2, Version: 12, UUID: id, JSON: true},
		v + ".00000000000000000020.compacted.json":      {Kind: logpath.Compacted, Version: 12, End: 20},
		"_delta_log/99999999999999999999.json":          {},
		"_delta_log/0.json":                             {},
		"_delta_log/+0000000000000000012.json":          {},
		v + ".json.tmp":                                 {Version: 12},
		v + ".checkpoint.0000000004.0000000003.parquet": {Version: 12},
		v + ".checkpoint.0000000000.0000000003.parquet": {Version: 12},
		v + ".00000000000000000012.compacted.json":      {Version: 12},
		v + ".checkpoint.parquet.json":                  {Version: 12},
		"_delta_log/_last_checkpoint":                   {},
		"_delta_log/_sidecars/x.parquet":                {},
		"00000000000000000012.json":                     {},
		"_delta_log/a/00000000000000000012.json":        {},
	}
	for name, want := range rows {
		want.Name = name
		require.Equal(t, want, logpath.Parse(name), name)
	}
}

func TestNamesSortByVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "version")
		for _, name := range []string{logpath.CommitName(v), logpath.CheckpointName(v), logpath.ChecksumName(v)} {
			if got := logpath.Parse(name); got.Version != v || got.Kind == logpath.Other {
				t.Fatalf("%s parses as %+v", name, got)
			}
			if name <= logpath.Before(v) || name >= logpath.Before(v+1) {
				t.Fatalf("%s is out of order", name)
			}
		}
	})
}

func TestDecode(t *testing.T) {
	for in, want := range map[string]string{
		"part-0.parquet":           "part-0.parquet",
		"s=a%20b/x.parquet":        "s=a b/x.parquet",
		"s=a%252Fb/x":              "s=a%2Fb/x",
		"p=p%2520%252F%2525/x":     "p=p%20%2F%25/x",
		"a%2Fb":                    "a/b",
		"é/x":                      "é/x",
		"a+b":                      "a+b",
		"s=%252E%252E%252F/x":      "s=%2E%2E%2F/x",
		"..a/b..":                  "..a/b..",
		"t=2024-01-01 00%3A00/a":   "t=2024-01-01 00:00/a",
		"_change_data/cdc.parquet": "_change_data/cdc.parquet",
	} {
		got, err := logpath.Decode(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got)
	}
	for _, bad := range []string{
		"", "/etc/passwd", "%2Fetc/passwd", "../x", "a/../x", "a/..", "%2E%2E/x", "%2e%2e/x", "a/%2E./x", ".%2e/x",
		"..%2Fx", "..%5Cx", `..\x`, `a\..\x`, `\\host\share`, "file:///etc/passwd", "s3://bucket/key", "S3A://b/k",
		"file:etc/passwd", "%66ile:///etc/passwd", "http://x", "//host/x", "a//b", "./x", "a/./b", "a/", "a%00b", "a%zz", "a%",
		"%ff", "data:x", "%2E", "c:/windows",
	} {
		_, err := logpath.Decode(bad)
		require.ErrorIs(t, err, logpath.ErrUnsafePath, bad)
	}
}

func TestAbsoluteSplitsPathsAndURIs(t *testing.T) {
	for in, want := range map[string][3]string{
		"/a/b":                 {"", "", "/a/b"},
		"/a%20b/%25":           {"", "", "/a b/%"},
		"file:///a/b":          {"file", "", "/a/b"},
		"FILE:/a/b":            {"file", "", "/a/b"},
		"file://host/a":        {"file", "host", "/a"},
		"s3a://bucket/k/p%3D1": {"s3a", "bucket", "/k/p=1"},
		"/a/%2E%2E/b":          {"", "", "/a/../b"}, // for the store to resolve
	} {
		scheme, host, path, ok := logpath.Absolute(in)
		require.True(t, ok, in)
		require.Equal(t, want, [3]string{scheme, host, path}, in)
	}
	for _, in := range []string{
		"", "a/b", "a:b", "%2Fa", "%66ile:///a", "//host/a", "file:a", "s3://bucket", "/a?b", "/a#b", `/a\b`, "/a%5Cb", "/a%00b", "/a%zz", "/%ff",
		"file:////a",
	} {
		_, _, _, ok := logpath.Absolute(in)
		require.False(t, ok, in)
	}
}

func TestEncodeIsInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.StringN(1, 8, -1), 1, 4).Draw(t, "name"), "/")
		got, err := logpath.Decode(logpath.Encode(name))
		if err == nil && got != name {
			t.Fatalf("%q became %q", name, got)
		}
		if err == nil && !inside(name) {
			t.Fatalf("%q accepted", name)
		}
	})
}

// inside checks a decoded name independently of the package.
func inside(name string) bool {
	return path.Clean("/"+name) == "/"+name && !strings.HasPrefix(name, "/")
}

func TestSidecar(t *testing.T) {
	name, err := logpath.Sidecar("3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet")
	require.NoError(t, err)
	require.Equal(t, "_delta_log/_sidecars/3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet", name)
	for _, bad := range []string{"a/b.parquet", "../x", "%2E%2E", "file:///x", "a%2Fb"} {
		_, err := logpath.Sidecar(bad)
		require.ErrorIs(t, err, logpath.ErrUnsafePath, bad)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"a/b", "%2E%2E/x", "s3://b/k", "a%20b", "..", "a/%2e%2e/b", `\x`, "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		name, err := logpath.Decode(in)
		if err != nil {
			require.ErrorIs(t, err, logpath.ErrUnsafePath)
			return
		}
		require.True(t, inside(name), "%q -> %q", in, name)
		again, err := logpath.Decode(logpath.Encode(name))
		require.NoError(t, err)
		require.Equal(t, name, again)
	})
}

func FuzzParse(f *testing.F) {
	f.Add("_delta_log/00000000000000000001.checkpoint.0000000001.0000000002.parquet")
	f.Add("_delta_log/00000000000000000001.00000000000000000005.compacted.json")
	f.Fuzz(func(t *testing.T, name string) {
		got := logpath.Parse(name)
		require.GreaterOrEqual(t, got.Version, int64(0))
		switch got.Kind {
		case logpath.Commit:
			require.Equal(t, name, logpath.CommitName(got.Version))
		case logpath.Checkpoint:
			require.Equal(t, name, logpath.CheckpointName(got.Version))
		case logpath.Multipart:
			require.LessOrEqual(t, got.Part, got.Parts)
		}
	})
}
