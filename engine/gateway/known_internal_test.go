package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWriteOnceNames(t *testing.T) {
	for _, name := range []string{
		"a.parquet", "t/part-00000-x.c000.snappy.parquet", "t/p=1/a.parquet", "t/_change_data/cdc-1.parquet",
		"t/deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin", "t/ab/deletion_vector_x.bin",
		"t/_delta_log/00000000000000000000.json", "_delta_log/00000000000000000010.checkpoint.parquet",
		"t/_delta_log/00000000000000000010.checkpoint.0000000001.0000000002.parquet",
		"t/_delta_log/00000000000000000010.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
		"t/_delta_log/00000000000000000004.00000000000000000006.compacted.json",
		"t/_delta_log/00000000000000000010.crc", "t/_delta_log/_sidecars/016ae953-37a9.parquet",
	} {
		require.True(t, writeOnce(name), name)
	}
	for _, name := range []string{
		"t/_delta_log/_last_checkpoint", "t/_delta_log/_last_vacuum_info", "t/_delta_log/x.parquet", "t/_delta_log/0.json",
		"t/_delta_log/00000000000000000000", "t/_delta_log/0000000000000000000a.json", "t/_delta_log/00000000000000000000.tmp",
		"t/_delta_log/00000000000000000000-json", "t/_delta_log/.00000000000000000000.json", "t/.a.parquet", "t/_tmp.parquet",
		"t/a.csv", "t/a.parquet.crc", "t/deletion_vector_x", "t/x.bin", "parquet", "t/a.parquet/b", "_delta_log",
	} {
		require.False(t, writeOnce(name), name)
	}
}

// TestDescriptionsOfOneContent: a time to the second and a finer one may be the
// same; the description that came first stays, and with it the blocks.
func TestDescriptionsOfOneContent(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 678, time.UTC)
	fine := object{identity: "i", name: "a", size: 10, stamp: at.UnixNano()}
	coarse, later, larger := fine, fine, fine
	coarse.stamp = at.Truncate(time.Second).UnixNano()
	later.stamp++
	larger.size++
	now := at
	k := newKnown(time.Minute, func() time.Time { return now })
	require.Equal(t, fine, k.learn(fine))
	require.Equal(t, fine, k.learn(coarse))
	require.Equal(t, later, k.learn(later))
	require.Equal(t, later, k.learn(coarse))
	require.Equal(t, larger, k.learn(larger))
	k.forget(fine) // not what is known any more
	got, ok := k.get("i", "a")
	require.True(t, ok)
	require.Equal(t, larger, got)
	_, ok = k.get("j", "a")
	require.False(t, ok)
	now = now.Add(time.Minute)
	_, ok = k.get("i", "a")
	require.False(t, ok, "too old to be believed")
	require.Equal(t, larger, k.learn(larger))
	_, ok = k.get("i", "a")
	require.True(t, ok)
	k.forget(larger)
	_, ok = k.get("i", "a")
	require.False(t, ok)
}
