package delta_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/mem"
)

// damageable is a table of ten versions with checkpoints at versions 4 and 8.
type damageable struct {
	objects map[string][]byte
	// views holds what each version that can be read holds.
	views map[int64]view
	// parts names the files of checkpoints, and the hint.
	parts []string
}

func (d damageable) bucket(t require.TestingT) objstore.Bucket {
	b := mem.New()
	for name, body := range d.objects {
		require.NoError(t, b.Put(context.Background(), name, bytes.NewReader(body), int64(len(body))))
	}
	return b
}

// actionsOf returns what a checkpoint of the snapshot holds.
func actionsOf(s *delta.Snapshot) (head, files []action.Action) {
	p, m := s.Protocol(), s.Metadata()
	head = []action.Action{&p, &m}
	for _, t := range s.SetTransactions() {
		head = append(head, &t)
	}
	for r := range s.Tombstones() {
		files = append(files, r)
	}
	for f := range s.Files() {
		files = append(files, f.Add)
	}
	return head, files
}

func encodeCheckpoint(t *testing.T, actions []action.Action) string {
	t.Helper()
	var buf bytes.Buffer
	_, err := checkpoint.Write(&buf, checkpoint.Form{}, slices.Values(actions))
	require.NoError(t, err)
	return buf.String()
}

// checkpointForms holds functions that replace the classic checkpoint of a version by one
// of another form.
var checkpointForms = map[string]func(t *testing.T, b objstore.Bucket, s *delta.Snapshot){
	"classic": func(*testing.T, objstore.Bucket, *delta.Snapshot) {},
	"multipart": func(t *testing.T, b objstore.Bucket, s *delta.Snapshot) {
		head, files := actionsOf(s)
		mustPut(t, b, logpath.MultipartName(s.Version(), 1, 3), encodeCheckpoint(t, head))
		mustPut(t, b, logpath.MultipartName(s.Version(), 2, 3), encodeCheckpoint(t, files[:2]))
		mustPut(t, b, logpath.MultipartName(s.Version(), 3, 3), encodeCheckpoint(t, files[2:]))
		require.NoError(t, b.Delete(t.Context(), logpath.CheckpointName(s.Version())))
	},
	"v2": func(t *testing.T, b objstore.Bucket, s *delta.Snapshot) {
		head, files := actionsOf(s)
		lines := []string{fmt.Sprintf(`{"checkpointMetadata":{"version":%d}}`, s.Version())}
		for _, a := range head {
			line, err := action.Encode(a)
			require.NoError(t, err)
			lines = append(lines, string(line))
		}
		for i, half := range [][]action.Action{files[:2], files[2:]} {
			name := fmt.Sprintf("%d-%d.parquet", s.Version(), i)
			body := encodeCheckpoint(t, half)
			mustPut(t, b, logpath.SidecarDir+name, body)
			lines = append(lines, fmt.Sprintf(`{"sidecar":{"path":%q,"sizeInBytes":%d,"modificationTime":1}}`, name, len(body)))
		}
		mustPut(t, b, fmt.Sprintf("_delta_log/%020d.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json", s.Version()),
			strings.Join(lines, "\n")+"\n")
		require.NoError(t, b.Delete(t.Context(), logpath.CheckpointName(s.Version())))
	},
	"classic and v2": func(t *testing.T, b objstore.Bucket, s *delta.Snapshot) {
		head, files := actionsOf(s)
		mustPut(t, b, fmt.Sprintf("_delta_log/%020d.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet", s.Version()),
			encodeCheckpoint(t, append(head, files...)))
	},
}

// newDamageable writes a table whose log has lost the commits below first.
func newDamageable(t *testing.T, form string, first int64) damageable {
	t.Helper()
	b := mem.New()
	s := mustCreate(t, b, delta.CreateOptions{Properties: map[string]string{
		"delta.checkpointInterval": "4", "delta.logRetentionDuration": "interval 0 days", "delta.enableExpiredLogCleanup": "false",
	}})
	for v := int64(1); v < 10; v++ {
		txn := s.Begin(delta.Operation{Name: "WRITE"})
		txn.SetTransaction("app", v)
		if v%3 == 0 {
			require.NoError(t, txn.Remove(false, slices.Collect(s.Files())[0]))
		}
		for range 2 {
			require.NoError(t, txn.Add(mustWrite(t, b, v)))
		}
		var err error
		s, err = txn.Commit(t.Context())
		require.NoError(t, err)
		if v%4 == 0 {
			checkpointForms[form](t, b, s)
		}
	}
	d := damageable{map[string][]byte{}, map[int64]view{}, nil}
	for v := range first {
		for _, name := range []string{logpath.CommitName(v), logpath.ChecksumName(v)} {
			require.NoError(t, b.Delete(t.Context(), name))
		}
	}
	for o, err := range b.List(t.Context(), "_delta_log/", objstore.ListOptions{}) {
		require.NoError(t, err)
		if f := logpath.Parse(o.Name); f.Kind == logpath.Checkpoint && f.Version < first-1 {
			require.NoError(t, b.Delete(t.Context(), o.Name))
			continue
		}
		d.objects[o.Name] = mustGet(t, b, o.Name)
		switch logpath.Parse(o.Name).Kind {
		case logpath.Commit, logpath.Checksum:
		default:
			d.parts = append(d.parts, o.Name)
		}
	}
	for v := range int64(10) {
		s, err := delta.Load(t.Context(), d.bucket(t), delta.Options{At: delta.AtVersion(v)})
		if err == nil {
			d.views[v] = viewOf(s)
		}
	}
	return d
}

func mustGet(t require.TestingT, b objstore.Bucket, name string) []byte {
	r, err := b.Get(context.Background(), name)
	require.NoError(t, err)
	body, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return body
}

// damage deletes a file of a checkpoint or replaces its content.
func damage(t *rapid.T, b objstore.Bucket, name string, whole []byte) {
	put := func(body []byte) {
		require.NoError(t, b.Put(context.Background(), name, bytes.NewReader(body), int64(len(body))))
	}
	kinds := []string{"gone", "empty", "cut", "garbage", "zeros"}
	if name == logpath.LastCheckpoint {
		kinds = append(kinds, "another version")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind of damage to "+name) {
	case "gone":
		require.NoError(t, b.Delete(context.Background(), name))
	case "empty":
		put(nil)
	case "cut":
		put(whole[:rapid.IntRange(0, len(whole)-1).Draw(t, "bytes")])
	case "garbage":
		put(rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "garbage"))
	case "zeros":
		put(make([]byte, len(whole)))
	case "another version":
		put(fmt.Appendf(nil, `{"version":%d,"size":1}`, rapid.Int64Range(0, 30).Draw(t, "hinted")))
	}
}

// namesCheckpoint reports whether err is the refusal of a damaged checkpoint, or of a
// missing commit that is needed without the checkpoint.
func namesCheckpoint(err error) bool {
	var refusal *delta.RefusalError
	return errors.As(err, &refusal) && slices.Contains([]delta.Reason{
		delta.ReasonCheckpointMissing, delta.ReasonCheckpointDamaged, delta.ReasonSidecarMissing, delta.ReasonSidecarDamaged,
		delta.ReasonCommitMissing,
	}, refusal.Reason)
}

// TestDamagedCheckpointsNeverChangeRows checks that with damaged checkpoints a version
// reads as before, or is refused with the reason, and that it is never refused if all
// commits remain.
func TestDamagedCheckpointsNeverChangeRows(t *testing.T) {
	tables := map[string]damageable{}
	for form := range checkpointForms {
		for _, first := range []int64{0, 5, 9} {
			d := newDamageable(t, form, first)
			require.Contains(t, d.views, int64(9))
			tables[fmt.Sprintf("%s from %d", form, first)] = d
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(tables))).Draw(t, "table")
		tables[name].check(t, strings.HasSuffix(name, " 0"))
	})
}

func (d damageable) check(t *rapid.T, complete bool) {
	ctx := context.Background()
	b := d.bucket(t)
	before, err := delta.Load(ctx, b, delta.Options{})
	require.NoError(t, err)
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(d.parts), 1, len(d.parts), rapid.ID).Draw(t, "parts") {
		damage(t, b, name, d.objects[name])
	}
	after, err := before.Refresh(ctx)
	require.NoError(t, err, "what is in memory needs no checkpoint")
	require.Same(t, before, after)
	readable := map[int64]view{}
	for _, v := range append([]int64{-1}, rapid.SliceOfNDistinct(rapid.Int64Range(0, 9), 3, 3, rapid.ID).Draw(t, "versions")...) {
		opts, want := delta.Options{}, v
		if v >= 0 {
			opts.At = delta.AtVersion(v)
		} else {
			want = 9
		}
		s, err := delta.Load(ctx, b, opts)
		view, known := d.views[want]
		switch {
		case err == nil:
			require.True(t, known, "version %d came back", v)
			require.Equal(t, view, viewOf(s), "version %d", v)
			readable[want] = view
		case known && complete:
			require.NoError(t, err, "version %d", v)
		case known && v == -1, known && !errors.Is(err, delta.ErrVersionNotFound):
			require.True(t, namesCheckpoint(err), "version %d: %v", v, err)
		}
	}
	d.checkCleanup(t, b, readable)
}

// checkCleanup commits, writes a checkpoint and cleans the log of a table whose
// checkpoints are damaged.
func (d damageable) checkCleanup(t *rapid.T, b objstore.Bucket, readable map[int64]view) {
	ctx := context.Background()
	now := time.Now().Add(100 * aDay)
	var warned []error
	opts := delta.Options{Clock: func() time.Time { return now }, Warn: func(_ context.Context,
		w delta.Warning) {
		warned = append(warned, w.Err)
	}}
	s, err := delta.Load(ctx, b, opts)
	if err != nil {
		return
	}
	m := s.Metadata()
	m.Configuration = maps.Clone(m.Configuration)
	delete(m.Configuration, "delta.enableExpiredLogCleanup")
	txn := s.Begin(delta.Operation{Name: "SET TBLPROPERTIES"})
	txn.SetMetadata(m)
	s, err = txn.Commit(ctx)
	require.NoError(t, err)
	_, cleaning := s.CleanLog(ctx) // covered by an old checkpoint, if by any
	latest := func() *delta.Snapshot {
		again, err := delta.Load(ctx, b, opts)
		require.NoError(t, err, "after a cleanup that ended with %v", cleaning)
		require.Equal(t, viewOf(s).Files, viewOf(again).Files)
		return again
	}
	latest()
	for v, view := range readable {
		old, err := delta.Load(ctx, b, delta.Options{At: delta.AtVersion(v)})
		if err == nil {
			require.Equal(t, view, viewOf(old), "version %d after a cleanup", v)
		}
	}
	require.NoError(t, s.Checkpoint(ctx))
	require.Equal(t, s.Version(), hinted(t, b), "the hint points at the checkpoint that was written")
	fresh := latest()
	require.Equal(t, s.Version(), fresh.BaseVersion())
	require.NoError(t, fresh.Damage())
	_, err = s.CleanLog(ctx)
	if err != nil {
		require.True(t, namesCheckpoint(err), "%v", err)
	}
	latest()
}

func hinted(t require.TestingT, b objstore.Bucket) int64 {
	last, err := checkpoint.DecodeLast(mustGet(t, b, logpath.LastCheckpoint))
	require.NoError(t, err)
	return last.Version
}

// TestAnUnreadableNewestCheckpointIsNotIgnored checks that a checkpoint without its commit
// proves its version: the version before it is not taken for the latest.
func TestAnUnreadableNewestCheckpointIsNotIgnored(t *testing.T) {
	for name, spoil := range map[string]func(b objstore.Bucket){
		"damaged":   func(b objstore.Bucket) { mustPut(t, b, logpath.CheckpointName(2), "") },
		"one part":  func(b objstore.Bucket) { mustPut(t, b, logpath.MultipartName(2, 2, 2), "x") },
		"no action": func(b objstore.Bucket) { mustPut(t, b, logpath.CheckpointName(2), encodeCheckpoint(t, nil)) },
	} {
		b := mem.New()
		mustLog(t, b, firstCommit(), addLine("a"))
		spoil(b)
		_, err := delta.Load(t.Context(), b, delta.Options{})
		require.True(t, namesCheckpoint(err), "%s: %v", name, err)
		s, err := delta.Load(t.Context(), b, delta.Options{At: delta.AtVersion(1)})
		require.NoError(t, err, name)
		require.Equal(t, []string{"a"}, fileNames(s))
	}
}

// TestACheckpointWithFewerFilesThanItsChecksumIsDamaged checks that a checkpoint without
// files is not read as a table without files.
func TestACheckpointWithFewerFilesThanItsChecksumIsDamaged(t *testing.T) {
	b := mem.New()
	mustLog(t, b, firstCommit(), addLine("a"))
	s, err := delta.Load(t.Context(), b, testOptions(t))
	require.NoError(t, err)
	p, m := s.Protocol(), s.Metadata()
	mustPut(t, b, logpath.CheckpointName(1), encodeCheckpoint(t, []action.Action{&p, &m}))
	mustPut(t, b, logpath.ChecksumName(1), `{"numFiles":1,"tableSizeBytes":1}`)
	s, err = delta.Load(t.Context(), b, delta.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, fileNames(s))
	var refusal *delta.RefusalError
	require.ErrorAs(t, s.Damage(), &refusal)
	require.Equal(t, delta.ReasonCheckpointDamaged, refusal.Reason)
	require.NoError(t, b.Delete(t.Context(), logpath.CommitName(0)))
	_, err = delta.Load(t.Context(), b, delta.Options{})
	require.True(t, namesCheckpoint(err), "%v", err)
}

// TestManyDamagedCheckpointsReadTheLogFromItsStart has more damaged checkpoints than are
// tried.
func TestManyDamagedCheckpointsReadTheLogFromItsStart(t *testing.T) {
	b := mem.New()
	mustLog(t, b, firstCommit(), addLine("a"))
	for v := int64(2); v < 40; v++ {
		mustPut(t, b, logpath.CommitName(v), addLine(fmt.Sprint(v)))
		mustPut(t, b, logpath.CheckpointName(v), "")
	}
	s, err := delta.Load(t.Context(), b, delta.Options{})
	require.NoError(t, err)
	require.Equal(t, 39, s.NumFiles())
	require.NoError(t, b.Delete(t.Context(), logpath.CommitName(0)))
	_, err = delta.Load(t.Context(), b, delta.Options{})
	require.True(t, namesCheckpoint(err), "%v", err)
}

// TestSupersededMetadataMayLackASchema checks that an incomplete metaData refuses its
// version, and no version after a later metaData.
func TestSupersededMetadataMayLackASchema(t *testing.T) {
	for name, bad := range map[string]string{
		"missing": `{"metaData":{"id":"a","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{}}}`,
		"null":    `{"metaData":{"id":"a","format":{"provider":"parquet","options":{}},"schemaString":null,"partitionColumns":[],"configuration":{}}}`,
		"empty":   metaLine("a", "", "", ""),
	} {
		t.Run(name, func(t *testing.T) {
			b := mem.New()
			mustLog(t, b, firstCommit(addLine("a")))
			s, err := delta.Load(t.Context(), b, testOptions(t))
			require.NoError(t, err)
			mustPut(t, b, logpath.CommitName(1), bad+"\n"+addLine("b"))
			closed := func(err error) {
				t.Helper()
				var refusal *delta.RefusalError
				require.ErrorAs(t, err, &refusal)
				require.Equal(t, delta.ReasonMetadataMissing, refusal.Reason)
				require.ErrorIs(t, err, delta.ErrLogBroken)
			}
			_, err = delta.Load(t.Context(), b, testOptions(t))
			closed(err)
			_, err = s.Refresh(t.Context())
			closed(err)
			mustPut(t, b, logpath.CommitName(2), metaLine("a", schemaText, "", "")+"\n"+addLine("c"))
			want := []string{"a", "b", "c"}
			loaded, err := delta.Load(t.Context(), b, testOptions(t))
			require.NoError(t, err)
			require.Equal(t, want, fileNames(loaded))
			refreshed, err := s.Refresh(t.Context())
			require.NoError(t, err)
			require.Equal(t, viewOf(loaded), viewOf(refreshed))
			_, err = delta.Load(t.Context(), b, delta.Options{At: delta.AtVersion(1)})
			closed(err)
			history, err := loaded.History(t.Context(), 10, 0)
			require.NoError(t, err)
			require.Len(t, history, 3)
			next := mustAppend(t, loaded, 1)
			require.NoError(t, next.Checkpoint(t.Context()))
			again, err := delta.Load(t.Context(), b, testOptions(t))
			require.NoError(t, err)
			require.Equal(t, viewOf(next), viewOf(again))
		})
	}
}
