package parquetcut

import (
	"testing"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/stretchr/testify/require"
)

// Row groups that claim more rows than can be added up are refused.
func TestRowsThatOverflow(t *testing.T) {
	leaf := structure{{1, int32(typeInt64)}, {3, int32(0)}, {4, []byte("n")}}
	group := func(at int64) structure {
		meta := structure{{1, int32(typeInt64)}, {2, list{of: thrift.I32}}, {4, int32(codecNone)}, {5, int64(1)}, {7, int64(10)}, {9, at}}
		return structure{{1, structureList([]structure{{{2, int64(0)}, {3, meta}}})}, {2, int64(10)}, {3, int64(1 << 62)}}
	}
	f := &File{footer: structure{
		{2, structureList([]structure{{{4, []byte("schema")}, {5, int32(1)}}, leaf})},
		{3, int64(-1 << 63)}, {4, structureList([]structure{group(4), group(14)})},
	}}
	require.ErrorIs(t, f.layOut(100), ErrNotCut)
}
