package deletion_test

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"maps"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
)

// handMade encodes a set according to the format's specification, without runs and
// independently of the encoder under test.
func handMade(positions []int64) []byte {
	le := binary.LittleEndian
	buckets := map[uint32]map[uint16][]uint16{}
	for _, p := range positions {
		high, mid, low := uint32(p>>32), uint16(p>>16), uint16(p)
		if buckets[high] == nil {
			buckets[high] = map[uint16][]uint16{}
		}
		buckets[high][mid] = append(buckets[high][mid], low)
	}
	out := le.AppendUint32(nil, 1681511377)
	out = le.AppendUint64(out, uint64(len(buckets)))
	for _, high := range slices.Sorted(maps.Keys(buckets)) {
		containers := buckets[high]
		keys := slices.Sorted(maps.Keys(containers))
		out = le.AppendUint32(out, high)
		out = le.AppendUint32(out, 12346) // no run containers
		out = le.AppendUint32(out, uint32(len(keys)))
		at := 8 + 8*len(keys)
		for _, k := range keys {
			out = le.AppendUint16(out, k)
			out = le.AppendUint16(out, uint16(len(containers[k])-1))
		}
		for _, k := range keys {
			out = le.AppendUint32(out, uint32(at))
			at += len(container(containers[k]))
		}
		for _, k := range keys {
			out = append(out, container(containers[k])...)
		}
	}
	return out
}

// container encodes up to 4096 members as a list, and more as a bitmap.
func container(members []uint16) []byte {
	if len(members) > 4096 {
		bits := make([]byte, 8192)
		for _, m := range members {
			bits[m/8] |= 1 << (m % 8)
		}
		return bits
	}
	var out []byte
	for _, m := range members {
		out = binary.LittleEndian.AppendUint16(out, m)
	}
	return out
}

// frame adds the size and checksum that surround data in a deletion vector file.
func frame(data []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	out = append(out, data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(data))
}

func vector(data []byte, cardinality int) *action.DeletionVector {
	one := int32(1)
	return &action.DeletionVector{
		StorageType: "u", PathOrInlineDV: "vBn[lx{q8@P<9BNH/isA", Offset: &one,
		SizeInBytes: int32(len(data)), Cardinality: int64(cardinality),
	}
}

// positions draws a set with dense parts, gaps and large positions.
func positions(t *rapid.T, label string) []int64 {
	set := map[int64]bool{}
	for range rapid.IntRange(0, 6).Draw(t, label) {
		first := rapid.OneOf(rapid.Int64Range(0, 200_000), rapid.Int64Range(0, 1<<34), rapid.Just(int64(1<<32-3))).Draw(t, "first")
		length := rapid.OneOf(rapid.Int64Range(1, 5), rapid.Int64Range(1, 4000)).Draw(t, "length")
		step := rapid.Int64Range(1, 3).Draw(t, "step")
		for i := range length {
			set[first+i*step] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

func of(tb require.TestingT, list []int64) *deletion.Rows {
	r, err := deletion.Of(slices.Values(list))
	require.NoError(tb, err)
	return r
}

func TestDecodesTheSpecifiedFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := positions(t, "runs")
		data := handMade(want)
		got, err := deletion.DecodeFile(vector(data, len(want)), frame(data))
		require.NoError(t, err)
		require.Equal(t, want, slices.Collect(got.All()))
		require.EqualValues(t, len(want), got.Count())
		require.True(t, got.Equal(of(t, want)))
	})
}

func TestSetsInAFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sets []*deletion.Rows
		var lists [][]int64
		for range rapid.IntRange(1, 4).Draw(t, "sets") {
			lists = append(lists, positions(t, "runs"))
			sets = append(sets, of(t, lists[len(lists)-1]))
		}
		id := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		name, body, vectors, err := deletion.EncodeFile(id, sets)
		require.NoError(t, err)
		require.Equal(t, "deletion_vector_"+id.String()+".bin", name)
		require.EqualValues(t, 1, body[0])
		end := int64(1)
		for i, d := range vectors {
			found, err := deletion.FileName(d)
			require.NoError(t, err)
			require.Equal(t, name, found)
			offset, length, err := deletion.FileRange(d)
			require.NoError(t, err)
			require.Equal(t, end, offset, "one after the other")
			end += length
			got, err := deletion.DecodeFile(d, body[offset:end])
			require.NoError(t, err)
			require.Equal(t, lists[i], slices.Collect(got.All()))
		}
		require.Len(t, body, int(end))
	})
}

func TestInline(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := positions(t, "runs")
		d, err := deletion.Inline(of(t, want))
		require.NoError(t, err)
		got, ok, err := deletion.DecodeInline(d)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, slices.Collect(got.All()))
		require.EqualValues(t, d.SizeInBytes, got.EncodedBytes())
	})
	_, ok, err := deletion.DecodeInline(vector(nil, 0))
	require.NoError(t, err)
	require.False(t, ok)
}

func TestSetAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := positions(t, "a"), positions(t, "b")
		ra, rb := of(t, a), of(t, b)
		u := ra.Union(rb)
		want := append(slices.Clone(a), b...)
		slices.Sort(want)
		want = slices.Compact(want)
		require.Equal(t, want, slices.Collect(u.All()))
		require.Equal(t, a, slices.Collect(ra.All()), "a union leaves its sides alone")
		for i, p := range want {
			next := i+1 < len(want) && want[i+1] == p+1
			if !u.Contains(p) || u.Contains(p+1) != next {
				t.Fatalf("around row %d", p)
			}
		}
		if len(want) > 0 {
			require.Equal(t, want[len(want)-1]+1, u.End())
		}
		asked := rapid.SliceOfN(rapid.Int64Range(-2, 70_000), 0, 20).Draw(t, "rows")
		if rapid.Bool().Draw(t, "follow") && len(asked) > 0 {
			for i := range asked {
				asked[i] = asked[0] + int64(i)
			}
		}
		found := slices.Repeat([]bool{true}, len(asked)) // what stood there before
		u.Mark(asked, found)
		for i, row := range asked {
			require.Equal(t, slices.Contains(want, row), found[i])
		}
	})
	require.Zero(t, deletion.None().End())
	span, err := deletion.Span(3, 1<<33)
	require.NoError(t, err)
	require.EqualValues(t, 1<<33-3, span.Count())
	require.False(t, span.Contains(2))
	require.False(t, span.Contains(-1))
	empty, err := deletion.Span(5, 5)
	require.NoError(t, err)
	require.True(t, empty.Equal(deletion.None()))
	for _, p := range []int64{-1, math.MinInt64, math.MaxInt64, 1 << 40} {
		_, err := deletion.Of(slices.Values([]int64{p}))
		require.ErrorIs(t, err, action.ErrMalformed)
	}
	_, err = deletion.Span(0, 1<<41)
	require.ErrorIs(t, err, action.ErrMalformed)
}

// TestFileNames has the protocol's example: a file id with a folder before it.
func TestFileNames(t *testing.T) {
	d := &action.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^"}
	name, err := deletion.FileName(d)
	require.NoError(t, err)
	require.Equal(t, "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", name)
	for _, d := range []*action.DeletionVector{
		{StorageType: "p", PathOrInlineDV: "s3://bucket/t/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"},
		{StorageType: "u", PathOrInlineDV: "../^-aqEH.-t@S}K{vb[*k^"},
		{StorageType: "u", PathOrInlineDV: "short"},
	} {
		_, err := deletion.FileName(d)
		require.ErrorIs(t, err, logpath.ErrUnsafePath, d.PathOrInlineDV)
	}
	for _, d := range []*action.DeletionVector{
		{StorageType: "i", PathOrInlineDV: "^-aqEH.-t@S}K{vb[*k^"},
		{StorageType: "u", PathOrInlineDV: "####################"},
		{StorageType: "u", PathOrInlineDV: "^-aqEH.-t@S}K{vb[*k\x00"},
	} {
		_, err := deletion.FileName(d)
		require.ErrorIs(t, err, action.ErrMalformed, d.PathOrInlineDV)
	}
}

func TestCheckPlace(t *testing.T) {
	const id = "^-aqEH.-t@S}K{vb[*k^"
	for path, ok := range map[string]bool{
		id: true, "ab" + id: true, "../" + id: false, "a/" + id: false, "..%2F" + id: false, id[1:]: false, "": false,
	} {
		err := deletion.CheckLocation(&action.DeletionVector{StorageType: "u", PathOrInlineDV: path})
		require.Equal(t, ok, err == nil, path)
	}
	require.ErrorIs(t, deletion.CheckLocation(&action.DeletionVector{StorageType: "p", PathOrInlineDV: "file:///x"}), logpath.ErrUnsafePath)
}

func TestDamagedFiles(t *testing.T) {
	data := handMade([]int64{1, 2, 3})
	good := frame(data)
	change := func(edit func(d *action.DeletionVector, part []byte) []byte) error {
		d := vector(data, 3)
		_, err := deletion.DecodeFile(d, edit(d, slices.Clone(good)))
		return err
	}
	require.NoError(t, change(func(_ *action.DeletionVector, p []byte) []byte { return p }))
	rows := map[string]func(*action.DeletionVector, []byte) []byte{
		"empty":            func(_ *action.DeletionVector, _ []byte) []byte { return nil },
		"cut":              func(_ *action.DeletionVector, p []byte) []byte { return p[:len(p)-1] },
		"longer":           func(_ *action.DeletionVector, p []byte) []byte { return append(p, 0) },
		"size":             func(_ *action.DeletionVector, p []byte) []byte { p[3]++; return p },
		"checksum":         func(_ *action.DeletionVector, p []byte) []byte { p[len(p)-1]++; return p },
		"one bit":          func(_ *action.DeletionVector, p []byte) []byte { p[len(p)-6] ^= 4; return p },
		"fewer rows":       func(d *action.DeletionVector, p []byte) []byte { d.Cardinality = 2; return p },
		"giant row number": func(d *action.DeletionVector, p []byte) []byte { d.Cardinality = math.MaxInt64; return p },
	}
	for name, edit := range rows {
		require.ErrorIs(t, change(edit), action.ErrMalformed, name)
	}
	offset := int32(0)
	_, _, err := deletion.FileRange(&action.DeletionVector{StorageType: "u", Offset: &offset})
	require.ErrorIs(t, err, action.ErrMalformed)
	_, _, err = deletion.FileRange(&action.DeletionVector{StorageType: "u", SizeInBytes: math.MaxInt32})
	require.ErrorIs(t, err, action.ErrTooLarge)
}

func TestHostileSets(t *testing.T) {
	head := func(buckets uint64) []byte {
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, 1681511377), buckets)
	}
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		require.NoError(t, err)
		return b
	}
	native := handMade([]int64{1})
	native[0]--
	unsorted := handMade([]int64{7, 9})
	copy(unsorted[len(unsorted)-4:], []byte{9, 0, 7, 0})
	beyond := handMade([]int64{1 << 40})
	twice := append(head(2), append(handMade([]int64{1})[12:], handMade([]int64{2})[12:]...)...)
	rows := map[string][]byte{
		"nothing":           {},
		"native form":       native,
		"unsorted members":  unsorted,
		"row beyond":        beyond,
		"bucket twice":      twice,
		"giant buckets":     head(math.MaxUint64),
		"many buckets":      append(head(256), make([]byte, 64)...),
		"empty bucket":      append(head(1), unhex("000000003a30000000000000")...),
		"no cookie":         append(head(1), unhex("0000000000000000")...),
		"giant containers":  append(head(1), unhex("000000003a300000ffffffff")...),
		"overlapping runs":  append(head(1), unhex("000000003b3000000100000a000200000005000300050000")...),
		"trailing bytes":    append(handMade([]int64{1}), 0),
		"last byte missing": handMade([]int64{1})[:len(handMade([]int64{1}))-1],
	}
	for name, data := range rows {
		_, err := deletion.DecodeFile(vector(data, 1), frame(data))
		require.ErrorIs(t, err, action.ErrMalformed, name)
	}
	inline := func(text string, size int32) error {
		_, _, err := deletion.DecodeInline(&action.DeletionVector{StorageType: "i", PathOrInlineDV: text, SizeInBytes: size, Cardinality: 1})
		return err
	}
	good, err := deletion.Inline(of(t, []int64{5}))
	require.NoError(t, err)
	require.NoError(t, inline(good.PathOrInlineDV, good.SizeInBytes))
	for name, row := range map[string]struct {
		text string
		size int32
	}{
		"not Z85": {"\"quot", 4}, "size": {good.PathOrInlineDV, good.SizeInBytes + 4}, "smaller": {good.PathOrInlineDV, good.SizeInBytes - 4},
		"nothing": {"", 0}, "four digits": {"0000", 3}, "beyond a word": {"#####", 4},
	} {
		require.ErrorIs(t, inline(row.text, row.size), action.ErrMalformed, name)
	}
	require.ErrorIs(t, inline(good.PathOrInlineDV, math.MaxInt32), action.ErrTooLarge)
}

// TestGiantCardinality checks that a few bytes which represent billions of rows decode
// to a small set.
func TestGiantCardinality(t *testing.T) {
	all, err := deletion.Span(0, 1<<32)
	require.NoError(t, err)
	name, body, vectors, err := deletion.EncodeFile(uuid.New(), []*deletion.Rows{all})
	require.NoError(t, err)
	require.NotEmpty(t, name)
	require.Less(t, len(body), 2<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := deletion.DecodeFile(vectors[0], body[1:])
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	require.EqualValues(t, 1<<32, got.Count())
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32*len(body)))
}

// FuzzDecode checks that a decoded set is in order, has the right count and is the same
// after encoding and decoding.
func FuzzDecode(f *testing.F) {
	f.Add(handMade(nil))
	f.Add(handMade([]int64{0, 9, 70_000, 1 << 33}))
	span, err := deletion.Span(10, 70_000)
	require.NoError(f, err)
	_, body, _, err := deletion.EncodeFile(uuid.New(), []*deletion.Rows{span})
	require.NoError(f, err)
	f.Add(body[5 : len(body)-4])
	f.Fuzz(func(t *testing.T, data []byte) {
		if r := deletion.DecodeBytes(data); r != nil {
			check(t, r)
		}
	})
}

func check(t *testing.T, r *deletion.Rows) {
	t.Helper()
	if r.Count() > 1<<22 {
		return
	}
	n, last := int64(0), int64(-1)
	for p := range r.All() {
		require.Greater(t, p, last)
		require.True(t, r.Contains(p))
		last = p
		n++
	}
	require.Equal(t, n, r.Count())
	require.Equal(t, last+1, r.End())
	d, err := deletion.Inline(r)
	require.NoError(t, err)
	again, _, err := deletion.DecodeInline(d)
	require.NoError(t, err)
	require.True(t, r.Equal(again))
}
