package duckdb

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/duckdb/extension"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
	"github.com/lakewarden/lakewarden/engine/duckdb/sandbox"
	"github.com/lakewarden/lakewarden/engine/duckdb/scan"
	"github.com/lakewarden/lakewarden/engine/duckdb/write"
	"github.com/lakewarden/lakewarden/engine/workdir"
)

// kind describes the statements that an instance can run.
type kind struct {
	// log reports whether some source comes without its list of files.
	log bool
	// remote reports whether some source is in a remote store.
	remote bool
}

// kindOf returns the kind of instance that st needs.
func kindOf(st engine.Statement) kind {
	var k kind
	add := func(src engine.Source) {
		if !src.IsZero() {
			k.log = k.log || src.Files == nil
			k.remote = k.remote || sandbox.IsRemote(src.Location)
		}
	}
	for _, src := range st.Sources {
		add(src)
	}
	for _, b := range st.Barriers {
		add(b.Source)
	}
	return k
}

// extensions returns those that an instance of this kind loads.
func (k kind) extensions(all []extension.File) []extension.File {
	var out []extension.File
	for _, e := range all {
		if e.Name == extension.Remote && k.remote || e.Name != extension.Remote && k.log {
			out = append(out, e)
		}
	}
	return out
}

// instance is one locked-down DuckDB instance of a session, with its state between statements.
type instance struct {
	owner      *Engine
	kind       kind
	confines   sandbox.Confines
	inst       *native.Instance
	dir        string
	applied    engine.Lease
	attached   *scan.Attachments
	views      *scan.Views
	copies     *barriers
	statements *native.Statements
}

// openInstance opens an instance of kind k for a session.
func openInstance(s *session, k kind) (*instance, error) {
	owner := s.owner
	defer owner.turns.take()()
	dir, err := owner.sessionDir()
	if err != nil {
		return nil, native.InternalError("temp_dir", err.Error())
	}
	c := sandbox.Confines{Extensions: k.extensions(owner.extensions), Roots: s.roots, Temp: filepath.Join(dir, "spill")}
	if s.scratch != "" {
		c.Temp = filepath.Join(s.scratch, workdir.Private, "spill-"+filepath.Base(dir))
		if err := os.MkdirAll(filepath.Dir(c.Temp), 0o750); err != nil {
			_ = os.RemoveAll(dir)
			return nil, native.InternalError("temp_dir", err.Error())
		}
	}
	if k.remote {
		c.Remote = s.remote
	}
	in, err := owner.spare.take()
	if err == nil {
		in, err = sandbox.Confine(in, c)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &instance{
		owner: owner, kind: k, confines: c, inst: in, dir: dir,
		attached: scan.NewAttachments(in, dir), views: scan.NewViews(in, &owner.checked), copies: newBarriers(in),
		statements: native.NewStatements(in),
	}, nil
}

// start prepares the instance for st and starts its SQL.
func (c *instance) start(st engine.Statement, g *native.Guard) (cur *native.Cursor, err error) {
	err = c.with(st, g, func() error {
		if st.Analyze {
			cur, err = c.inst.Measure(st.SQL, st.Args, g.Err)
		} else {
			cur, err = c.statements.Open(st.SQL, st.Args, g.Err)
		}
		return err
	})
	return cur, err
}

// write prepares the instance for st and writes its rows into files of the directory dir.
func (c *instance) write(st engine.WriteStatement, dir string, g *native.Guard) (files []engine.DataFile, err error) {
	if l := st.Layout; l.Ordered && (l.FileBytes > 0 || len(l.PartitionBy) > 0) {
		st.Lease.Threads = 1 // several threads keep the order in a single file only
	}
	err = c.with(st.Statement, g, func() error {
		return write.Unordered(c.inst, !st.Layout.Ordered, func() error {
			files, err = write.Files(c.inst, st.Statement, st.Layout, dir, g.Err)
			return err
		})
	})
	return files, err
}

// with calls run once the instance has the lease, sources and copies of st.
func (c *instance) with(st engine.Statement, g *native.Guard, run func() error) error {
	if err := c.apply(st.Lease); err != nil {
		return err
	}
	missing := c.copies.missing(st.Barriers)
	sources := st.Sources
	for _, b := range missing {
		if !b.Source.IsZero() {
			sources = append(sources[:len(sources):len(sources)], b.Source)
		}
	}
	if err := c.provide(sources, g); err != nil {
		return err
	}
	err := c.copies.make(st.Barriers, missing, st.Lease.Memory/2, g.Err)
	if err == nil {
		err = run()
	}
	if err != nil {
		c.forget(sources, err)
	}
	return err
}

// provide makes every source readable under its name, and drops old ones.
func (c *instance) provide(sources []engine.Source, g *native.Guard) error {
	inUse := make(map[string]bool, len(sources))
	for _, src := range sources {
		inUse[src.Database()] = true
		if src.Files != nil && c.views.Has(src) || src.Files == nil && c.attached.Has(src) {
			continue
		}
		location, err := c.confines.Locate(src.Location)
		if err != nil {
			return err
		}
		if err := g.Err(); err != nil {
			return err
		}
		add := c.attached.Add
		if src.Files != nil {
			add = c.views.Add
		} else if err := c.views.Check(src.Checked, location); err != nil {
			return err
		}
		if err := add(src, location); err != nil {
			return err
		}
	}
	if err := c.attached.Trim(inUse); err != nil {
		return err
	}
	return c.views.Trim(inUse)
}

// forget drops the sources of a statement that could not read its files: an attachment retains
// the log as it was first read, a view the columns, so a repaired table needs new ones. A
// failure to drop costs memory only.
func (c *instance) forget(sources []engine.Source, err error) {
	if e := native.AsError(err); e == nil || e.Kind != engine.KindIO {
		return
	}
	for _, src := range sources {
		name := src.Database()
		if c.attached.Drop(name) != nil || c.views.Drop(name) != nil {
			return
		}
	}
}

// spillReserve is subtracted from the limit of spilled bytes: DuckDB was seen to exceed it by
// a block of 32 KiB.
const spillReserve = 1 << 20

// threadMemory is the memory that a lease must have for each thread, remoteThreadMemory for
// each thread that reads a remote store: the buffers of a reply of the store are not counted
// in DuckDB's limit until it is complete.
const (
	threadMemory       = 24 << 20
	remoteThreadMemory = 48 << 20
)

// apply sets what the lease grants. Zero fields keep the defaults of the engine.
func (c *instance) apply(lease engine.Lease) error {
	want, each := c.owner.defaults(lease), int64(threadMemory)
	if c.kind.remote {
		each = remoteThreadMemory
		if want.Threads > 1 {
			want.Threads *= sandbox.RemoteThreads
		}
	}
	// The memory that threads hold outside of the limit adds up.
	want.Threads = min(want.Threads, max(1, int(want.Memory/each)))
	var set []string
	if want.Memory != c.applied.Memory {
		set = append(set, "SET memory_limit='"+strconv.FormatInt(want.Memory, 10)+"B'")
	}
	if want.Threads != c.applied.Threads {
		set = append(set, "SET threads="+strconv.Itoa(want.Threads))
	}
	if want.TempBytes != c.applied.TempBytes {
		set = append(set, "SET max_temp_directory_size='"+strconv.FormatInt(max(want.TempBytes-spillReserve, want.TempBytes/2), 10)+"B'")
	}
	if len(set) == 0 {
		return nil
	}
	c.applied = engine.Lease{}
	if err := c.inst.Exec(strings.Join(set, ";")); err != nil {
		return err
	}
	c.applied = want
	return nil
}

// idleFloor is the memory that an idle instance may hold in addition to its copies.
const idleFloor = 16 << 20

// rest releases memory and threads, except copies of keep bytes.
func (c *instance) rest(keep int64) error {
	defer c.owner.turns.take()()
	c.statements.Shrink(0)
	if err := c.attached.Clear(); err != nil {
		return err
	}
	if err := c.copies.shrink(keep, nil); err != nil {
		return err
	}
	lease := c.applied
	lease.Memory, lease.Threads = c.copies.bytes()+idleFloor, 1
	return c.apply(lease)
}

func (c *instance) close() error {
	defer c.owner.trimmer.soon()
	defer c.owner.turns.take()()
	c.statements.Shrink(0)
	c.inst.Close()
	c.views.Close()
	if err := errors.Join(os.RemoveAll(c.confines.Temp), os.RemoveAll(c.dir)); err != nil {
		return native.InternalError("temp_dir", err.Error())
	}
	return nil
}
