package delta

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// checkpointSet holds the files of one complete checkpoint. A version can have several
// checkpoints.
type checkpointSet []logpath.File

func (c checkpointSet) version() int64 { return c[0].Version }

// sets returns the complete checkpoints of a listing, the preferred ones first: newer
// versions before older ones, and at one version a classic one, then V2 ones, then
// multipart ones by the number of their parts.
func (l listing) sets() []checkpointSet {
	sets, _ := l.groupCheckpoints()
	return sets
}

// groupCheckpoints also returns, of each incomplete multipart checkpoint, the first
// part that is missing.
func (l listing) groupCheckpoints() (complete []checkpointSet, missing []logpath.File) {
	type multipart struct {
		version int64
		parts   int
	}
	parts := make(map[multipart]checkpointSet)
	for _, f := range l.files {
		switch f.Kind {
		case logpath.Checkpoint, logpath.V2:
			complete = append(complete, checkpointSet{f})
		case logpath.Multipart:
			key := multipart{f.Version, f.Parts}
			parts[key] = append(parts[key], f)
		}
	}
	for key, files := range parts {
		slices.SortFunc(files, func(a, b logpath.File) int { return cmp.Compare(a.Part, b.Part) })
		files = slices.CompactFunc(files, func(a, b logpath.File) bool { return a.Part == b.Part })
		if len(files) == key.parts {
			complete = append(complete, files)
			continue
		}
		part := 1
		for part <= len(files) && files[part-1].Part == part {
			part++
		}
		missing = append(missing, logpath.File{
			Name: logpath.MultipartName(key.version, part, key.parts), Kind: logpath.Multipart,
			Version: key.version, Part: part, Parts: key.parts,
		})
	}
	slices.SortFunc(complete, func(a, b checkpointSet) int {
		return cmp.Or(cmp.Compare(b.version(), a.version()), cmp.Compare(rank(a[0]), rank(b[0])),
			cmp.Compare(a[0].Parts, b[0].Parts), cmp.Compare(a[0].Name, b[0].Name))
	})
	return complete, missing
}

// rank orders the forms of checkpoints by preference.
func rank(f logpath.File) int {
	return slices.Index([]logpath.Kind{logpath.Checkpoint, logpath.V2, logpath.Multipart}, f.Kind)
}

// checkpoints returns the preferred checkpoint of each version that has a complete one.
func (l listing) checkpoints() map[int64][]logpath.File {
	best := make(map[int64][]logpath.File)
	for _, set := range l.sets() {
		if best[set.version()] == nil {
			best[set.version()] = set
		}
	}
	return best
}

// maxDamaged is the number of damaged checkpoints that are tried before the log is read
// from version 0.
const maxDamaged = 8

// damage records the damaged checkpoints of one log. The zero value records none. A
// version can be read without them while the commits that they cover exist.
type damage struct {
	// found holds the error of each damaged checkpoint, by the name of its first file.
	found map[string]error
	// first is the error that was recorded first: that of the preferred checkpoint.
	first error
}

func (d *damage) add(set checkpointSet, err error) {
	if d.found == nil {
		d.found, d.first = make(map[string]error), err
	}
	d.found[set[0].Name] = err
}

// usable reports whether a checkpoint may be read.
func (d *damage) usable(set checkpointSet) bool {
	return len(d.found) < maxDamaged && d.found[set[0].Name] == nil
}

// explain returns the error of a damaged or incomplete checkpoint that would make
// version readable without the missing commit, or nil if there is none.
func (d *damage) explain(l listing, missing, version int64) error {
	complete, incomplete := l.groupCheckpoints()
	for _, set := range complete {
		if v := set.version(); v >= missing && v <= version && !d.usable(set) {
			if err := d.found[set[0].Name]; err != nil {
				return err
			}
			return d.first
		}
	}
	for _, f := range incomplete {
		if f.Version >= missing && f.Version <= version {
			return withReason(ReasonCheckpointMissing, f.Name, fmt.Errorf("part %d of %d is missing: %w", f.Part, f.Parts, ErrLogBroken))
		}
	}
	return nil
}

// isDamage reports whether err means that a file of the log cannot be decoded.
func isDamage(err error) bool {
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, ErrMalformed)
}

// checkpointError adds the reason to an error of reading a file of a checkpoint.
func checkpointError(f logpath.File, err error) error {
	missing, damaged := ReasonCheckpointMissing, ReasonCheckpointDamaged
	if f.Kind == logpath.Other {
		missing, damaged = ReasonSidecarMissing, ReasonSidecarDamaged
	}
	if errors.Is(err, objstore.ErrNotFound) {
		return withReason(missing, f.Name, missingAsBroken(err))
	}
	return withActionReason(damaged, f.Name, err)
}

// replaceable reports whether the version may be read without the checkpoint whose
// reading failed with err. It is false for an unsafe path, which other readers would
// follow.
func replaceable(err error) bool {
	var r *RefusalError
	return errors.As(err, &r) && r.Reason != ReasonUnsafePath && r.Reason != ReasonAbsolutePath
}
