package duckdb

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
)

// cell is one locked-down instance of a session, with what it keeps between
// statements.
type cell struct {
	owner    *Engine
	roots    []string
	inst     *instance
	dir      string
	applied  engine.Lease
	attached *attachments
	views    *fileViews
	copies   *barriers
}

// openCell opens an instance with the given extensions.
func openCell(owner *Engine, roots []string, extensions []extension) (*cell, error) {
	defer owner.turns.take()()
	dir, err := owner.sessionDir()
	if err != nil {
		return nil, internalError("temp_dir", err.Error())
	}
	in, err := openSandbox(extensions, roots, filepath.Join(dir, "spill"))
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &cell{
		owner: owner, roots: roots, inst: in, dir: dir,
		attached: newAttachments(in, dir), views: newFileViews(in), copies: newBarriers(in),
	}, nil
}

// start brings the cell into the state that st asks for and starts its SQL.
func (c *cell) start(st engine.Statement, g *guard) (*cursor, error) {
	if err := c.apply(st.Lease); err != nil {
		return nil, err
	}
	missing := c.copies.missing(st.Barriers)
	sources := st.Sources
	for _, b := range missing {
		if !b.Source.IsZero() {
			sources = append(sources[:len(sources):len(sources)], b.Source)
		}
	}
	if err := c.provide(sources, g); err != nil {
		return nil, err
	}
	if err := c.copies.make(st.Barriers, missing, st.Lease.Memory/2, g.err); err != nil {
		c.forget(sources, err)
		return nil, err
	}
	cur, err := c.inst.open(st.SQL, st.Args, selects, g.err)
	if err != nil {
		c.forget(sources, err)
		return nil, err
	}
	return cur, nil
}

// provide makes every source there under its name, and lets go of old ones.
func (c *cell) provide(sources []engine.Source, g *guard) error {
	inUse := make(map[string]bool, len(sources))
	for _, src := range sources {
		inUse[src.Database()] = true
		if src.Files != nil && c.views.has(src) || src.Files == nil && c.attached.has(src) {
			continue
		}
		location, err := c.owner.within(c.roots, src.Location)
		if err != nil {
			return err
		}
		if err := g.err(); err != nil {
			return err
		}
		add := c.attached.add
		if src.Files != nil {
			add = c.views.add
		}
		if err := add(src, location); err != nil {
			return err
		}
	}
	if err := c.attached.trim(inUse); err != nil {
		return err
	}
	return c.views.trim(inUse)
}

// forget drops the sources of a statement that could not read its files: an
// attachment keeps the log as it first saw it, a view the columns. A mended
// table needs new ones. What cannot be dropped costs memory only.
func (c *cell) forget(sources []engine.Source, err error) {
	if e := engineError(err); e == nil || e.Kind != engine.KindIO {
		return
	}
	for _, src := range sources {
		name := src.Database()
		if c.attached.drop(name) != nil || c.views.drop(name) != nil {
			return
		}
	}
}

// apply sets what the lease grants. Unset fields keep the engine's defaults.
func (c *cell) apply(lease engine.Lease) error {
	want := c.owner.defaults(lease)
	var set []string
	if want.Memory != c.applied.Memory {
		set = append(set, "SET memory_limit='"+strconv.FormatInt(want.Memory, 10)+"B'")
	}
	if want.Threads != c.applied.Threads {
		set = append(set, "SET threads="+strconv.Itoa(want.Threads))
	}
	if want.TempBytes != c.applied.TempBytes {
		set = append(set, "SET max_temp_directory_size='"+strconv.FormatInt(want.TempBytes, 10)+"B'")
	}
	if len(set) == 0 {
		return nil
	}
	c.applied = engine.Lease{}
	if err := c.inst.exec(strings.Join(set, ";")); err != nil {
		return err
	}
	c.applied = want
	return nil
}

// idleFloor is the memory an idle instance may hold beside the kept copies.
const idleFloor = 16 << 20

// rest gives memory and threads back, but for copies of keep bytes.
func (c *cell) rest(keep int64) error {
	defer c.owner.turns.take()()
	if err := c.attached.clear(); err != nil {
		return err
	}
	if err := c.copies.shrink(keep, nil); err != nil {
		return err
	}
	lease := c.applied
	lease.Memory, lease.Threads = c.copies.bytes()+idleFloor, 1
	return c.apply(lease)
}

func (c *cell) close() error {
	defer c.owner.trimmer.soon()
	defer c.owner.turns.take()()
	c.inst.close()
	if err := os.RemoveAll(c.dir); err != nil {
		return internalError("temp_dir", err.Error())
	}
	return nil
}
