package delta_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// anyLog draws the commits of a table: files are added, removed, added again and get
// other deletion vectors, in addition to transactions and metadata domains.
func anyLog(t *rapid.T) [][]action.Action {
	const days = int64(24 * time.Hour / time.Millisecond)
	now := time.Now().UnixMilli() // tombstones young enough to be kept
	log := [][]action.Action{{
		&action.CommitInfo{Timestamp: 1},
		&action.Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"deletionVectors"},
			WriterFeatures: []string{"deletionVectors", "domainMetadata"}},
		&action.Metadata{
			ID: "t", Format: action.Format{Provider: "parquet", Options: map[string]string{}}, PartitionColumns: []string{},
			SchemaString:  `{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}`,
			Configuration: map[string]string{},
		},
	}}
	live := map[string]*action.Add{}
	for range rapid.IntRange(1, 14).Draw(t, "commits") {
		actions := []action.Action{&action.CommitInfo{Timestamp: 2}}
		touched := map[string]bool{}
		for range rapid.IntRange(0, 5).Draw(t, "actions") {
			path := fmt.Sprintf("f%d%%20.parquet", rapid.IntRange(0, 9).Draw(t, "file"))
			if touched[path] {
				continue
			}
			touched[path] = true
			old := live[path]
			add := &action.Add{
				Path: path, PartitionValues: map[string]*string{}, Size: rapid.Int64Range(0, 1<<40).Draw(t, "size"),
				ModificationTime: 3, DataChange: true, Stats: `{"numRecords":9}`,
			}
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				if old != nil {
					add.DeletionVector = old.DeletionVector // the same logical file anew
				}
				actions = append(actions, add)
				live[path] = add
			case 1:
				remove := &action.Remove{Path: path, DeletionTimestamp: new(now + days), DataChange: true, ExtendedFileMetadata: new(true)}
				if old != nil {
					remove.DeletionVector = old.DeletionVector
				}
				actions = append(actions, remove)
				delete(live, path)
			case 2:
				if old == nil {
					continue
				}
				offset := rapid.Int32Range(0, 1000).Draw(t, "offset")
				add.DeletionVector = &action.DeletionVector{StorageType: "u", PathOrInlineDV: "ab^-aqEH.-t@S}K{vb[*k^", Offset: &offset, SizeInBytes: 1,
					Cardinality: 1}
				if old.DeletionVector.UniqueID() == add.DeletionVector.UniqueID() {
					continue
				}
				actions = append(actions, &action.Remove{Path: path, DeletionTimestamp: new(now + days), DeletionVector: old.DeletionVector,
					DataChange: true}, add)
				live[path] = add
			}
		}
		if rapid.Bool().Draw(t, "txn") {
			actions = append(actions, &action.Txn{AppID: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "app"),
				Version: rapid.Int64Range(0, 99).Draw(t, "version")})
		}
		if rapid.Bool().Draw(t, "domain") {
			actions = append(actions, &action.DomainMetadata{
				Domain: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "domain"), Configuration: "{}", Removed: rapid.Bool().Draw(t, "removed"),
			})
		}
		log = append(log, actions)
	}
	return log
}

// model is an independent reconciliation: the newest action of each key wins.
func model(log [][]action.Action) (live, gone []string, bytes int64) {
	newest := map[string]*action.Add{}
	for _, actions := range log {
		for _, a := range actions {
			switch a := a.(type) {
			case *action.Add:
				newest[a.Path+"|"+a.DeletionVector.UniqueID()] = a
			case *action.Remove:
				newest[a.Path+"|"+a.DeletionVector.UniqueID()] = nil
			}
		}
	}
	for key, a := range newest {
		if a != nil {
			live = append(live, key)
			bytes += a.Size
		} else {
			gone = append(gone, key)
		}
	}
	slices.Sort(live)
	slices.Sort(gone)
	return live, gone, bytes
}

func put(t *rapid.T, b objstore.Bucket, name string, body []byte) {
	if err := b.Put(bg, name, bytes.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
}

// TestAllWaysToAVersionAgree checks that a version is the same whether read from
// commits, from any checkpoint, or by refreshing step by step.
func TestAllWaysToAVersionAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := anyLog(t)
		plain, checked := mem.New(), mem.New()
		last := int64(len(log) - 1)
		at := rapid.Int64Range(0, last).Draw(t, "checkpoint")
		start := rapid.Int64Range(0, last).Draw(t, "start")
		var follower *delta.Snapshot
		for v, actions := range log {
			body, err := action.EncodeCommit(actions)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range []objstore.Bucket{plain, checked} {
				put(t, b, logpath.CommitName(int64(v)), body)
			}
			if int64(v) == start {
				follower = load(t, plain)
			} else if follower != nil && rapid.Bool().Draw(t, "refresh") {
				follower = refresh(t, follower)
			}
		}
		old, err := delta.Load(bg, checked, delta.Options{At: delta.AtVersion(at)})
		if err != nil {
			t.Fatal(err)
		}
		if err := old.Checkpoint(bg); err != nil {
			t.Fatal(err)
		}
		for v := range at {
			_ = checked.Delete(bg, logpath.CommitName(v))
		}
		fromCommits, fromCheckpoint, followed := load(t, plain), load(t, checked), refresh(t, follower)
		if d := cmp.Diff(viewOf(fromCommits), viewOf(fromCheckpoint)); d != "" {
			t.Fatalf("checkpoint at %d of %d: %s", at, last, d)
		}
		if fromCommits.MemoryBytes() != followed.MemoryBytes() {
			t.Fatalf("memory: %d read, %d followed", fromCommits.MemoryBytes(), followed.MemoryBytes())
		}
		if d := cmp.Diff(viewOf(fromCommits), viewOf(followed)); d != "" {
			t.Fatalf("followed from %d of %d: %s", start, last, d)
		}
		live, gone, total := model(log)
		var got []string
		for f := range fromCommits.Files() {
			got = append(got, f.Add.Path+"|"+f.Add.DeletionVector.UniqueID())
		}
		slices.Sort(got)
		tombs := slices.Sorted(maps.Keys(viewOf(fromCommits).Tombstones))
		if !slices.Equal(gone, tombs) {
			t.Fatalf("gone %v, tombstones %v", gone, tombs)
		}
		if !slices.Equal(live, got) || total != fromCommits.TotalBytes() || len(live) != fromCommits.NumFiles() {
			t.Fatalf("live %v, bytes %d; got %v, %d", live, total, got, fromCommits.TotalBytes())
		}
	})
}

func load(t *rapid.T, b objstore.Bucket) *delta.Snapshot {
	s, err := delta.Load(bg, b, delta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func refresh(t *rapid.T, s *delta.Snapshot) *delta.Snapshot {
	s, err := s.Refresh(bg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOtherCheckpoints reads the checkpoint forms of other writers.
func TestOtherCheckpoints(t *testing.T) {
	const id = "80a083e8-7026-4e79-81be-64bd76c43a11"
	parquet := func(actions ...action.Action) string {
		var buf bytes.Buffer
		_, err := checkpoint.Write(&buf, checkpoint.Form{}, slices.Values(actions))
		require.NoError(t, err)
		return buf.String()
	}
	add := func(path string) *action.Add { return &action.Add{Path: path, Size: 1} }
	decoded, err := action.DecodeCommit([]byte(firstCommit()), action.Limits{})
	require.NoError(t, err)
	sidecar := `{"sidecar":{"path":"part.parquet","sizeInBytes":1,"modificationTime":1}}`
	rows := map[string]func(b objstore.Bucket){
		"multipart": func(b objstore.Bucket) {
			mustPut(t, b, "_delta_log/00000000000000000005.checkpoint.0000000001.0000000002.parquet", parquet(append(decoded, add("a"))...))
			mustPut(t, b, "_delta_log/00000000000000000005.checkpoint.0000000002.0000000002.parquet", parquet(add("b")))
		},
		"v2 in json with sidecar": func(b objstore.Bucket) {
			mustPut(t, b, "_delta_log/00000000000000000005.checkpoint."+id+".json", firstCommit(`{"checkpointMetadata":{"version":5}}`, sidecar))
			mustPut(t, b, "_delta_log/_sidecars/part.parquet", parquet(add("a"), add("b")))
		},
		"v2 in parquet": func(b objstore.Bucket) {
			mustPut(t, b, "_delta_log/00000000000000000005.checkpoint."+id+".parquet", parquet(append(decoded, add("a"), add("b"))...))
		},
	}
	for name, make := range rows {
		t.Run(name, func(t *testing.T) {
			b := mem.New()
			make(b)
			mustPut(t, b, logpath.CommitName(6), addLine("c"))
			s, err := delta.Load(t.Context(), b, delta.Options{})
			require.NoError(t, err)
			require.EqualValues(t, 6, s.Version())
			require.Equal(t, []string{"a", "b", "c"}, fileNames(s))
			s, err = delta.Load(t.Context(), b, delta.Options{At: delta.AtVersion(5)})
			require.NoError(t, err)
			require.Equal(t, []string{"a", "b"}, fileNames(s), "although the commit is gone")
		})
	}
}

func TestCheckpointsOmitExpiredActions(t *testing.T) {
	b := mem.New()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	opts := testOptions(t)
	opts.Clock = func() time.Time { return now }
	s := mustCreate(t, b, delta.CreateOptions{Options: opts, Properties: map[string]string{
		"delta.deletedFileRetentionDuration":    "interval 2 days",
		"delta.setTransactionRetentionDuration": "interval 1 week",
	}})
	commit := func(change func(*delta.Txn)) {
		txn := s.Begin(delta.Operation{Name: "X"})
		change(txn)
		next, err := txn.Commit(t.Context())
		require.NoError(t, err)
		s = next
	}
	remove := func(txn *delta.Txn) {
		for f := range s.Files() {
			require.NoError(t, txn.Remove(false, f))
			return
		}
	}
	s = mustAppend(t, mustAppend(t, s, 1), 2)
	commit(remove)
	commit(func(txn *delta.Txn) { txn.SetTransaction("old", 1) })
	now = now.Add(3 * 24 * time.Hour)
	commit(remove)
	now = now.Add(5 * 24 * time.Hour)
	commit(func(txn *delta.Txn) { txn.SetTransaction("new", 1) })
	now = now.Add(-4 * 24 * time.Hour) // a day after the second removal
	require.NoError(t, s.Checkpoint(t.Context()))
	count := func() (tombs int, apps []string) {
		loaded, err := delta.Load(t.Context(), b, opts)
		require.NoError(t, err)
		for range loaded.Tombstones() {
			tombs++
		}
		for app := range loaded.SetTransactions() {
			apps = append(apps, app)
		}
		slices.Sort(apps)
		return tombs, apps
	}
	tombs, apps := count()
	require.Equal(t, 1, tombs)
	require.Equal(t, []string{"new", "old"}, apps)
	now = now.Add(4 * 24 * time.Hour)
	require.NoError(t, s.Checkpoint(t.Context()))
	tombs, apps = count()
	require.Zero(t, tombs)
	require.Equal(t, []string{"new"}, apps)
}
