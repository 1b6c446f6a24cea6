package move

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// Delete deletes the source: first the logs, then the data. It returns the number and the size of
// the objects that this run has deleted. It keeps every object that the target does not have, and
// returns ErrSourceChanged for it. If such an object is in a log when Delete begins, nothing is
// deleted; if it appears in a log later, no data is deleted. After an error Delete can be run
// again.
func (j Job) Delete(ctx context.Context) (Count, error) {
	d := deletion{run: j.run(), from: j.Source, other: j.Target, expendable: moved, strict: true}
	err := d.all(ctx)
	return d.done, err
}

// Discard deletes from the target what Copy has written there, logs first: the objects that the
// source has too, with the same content. Other objects stay. After an error it can be run again.
func (j Job) Discard(ctx context.Context) error {
	d := deletion{run: j.run(), from: j.Target, other: j.Source, expendable: copied}
	return d.all(ctx)
}

// deletion deletes the objects of a bucket that another one has too.
type deletion struct {
	*run
	from, other objstore.Bucket
	// expendable reports whether an object that both buckets have may be deleted.
	expendable func(context.Context, *deletion, pair) (bool, error)
	// strict reports that an object that must be kept is an error.
	strict bool

	mu   sync.Mutex
	kept ChangedError
}

// all deletes the logs and then the data.
func (d *deletion) all(ctx context.Context) error {
	folders, missing, err := logs(ctx, d.from, d.other)
	switch {
	case err != nil:
		return err
	case d.strict && missing.Count > 0:
		return &missing
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(d.Parallel)
	for _, folder := range folders {
		group.Go(func() error { return d.log(inner, folder) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := d.late(); err != nil {
		return err
	}
	if d.strict {
		// Another engine may have created a log that refers to the data.
		_, missing, err = logs(ctx, d.from, d.other)
		switch {
		case err != nil:
			return err
		case missing.Count > 0:
			return &missing
		}
	}
	err = d.each(ctx, "", func(p pair) (use, more bool) { return logFolder(p.name) == "", true })
	if err != nil {
		return err
	}
	return d.late()
}

// late returns ErrSourceChanged if a strict deletion has kept an object.
func (d *deletion) late() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.strict {
		return nil
	}
	return d.kept.orNil()
}

func (d *deletion) keep(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept.add(name)
}

// log deletes a log. A strict deletion ends at a file that must be kept, and deletes nothing if
// there is one at the beginning.
func (d *deletion) log(ctx context.Context, folder string) error {
	l := &deletion{run: d.run, from: d.from, other: d.other, expendable: d.expendable, strict: d.strict}
	if l.strict {
		if err := l.compare(ctx, folder); err != nil {
			return err
		}
	}
	for _, step := range logSteps {
		if l.late() != nil {
			break
		}
		err := l.each(ctx, folder, func(p pair) (use, more bool) { return step(roleOf(p.name)) })
		if err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept.join(l.kept)
	return nil
}

// logSteps select the files of a log in the order in which they are deleted, and report whether to
// go on. First come the hint and the files from which readers begin: as long as all commits remain,
// readers find the newest version by them or none. Without the oldest commit they find none, so the
// order of the other files is irrelevant.
var logSteps = []func(role) (use, more bool){
	func(r role) (use, more bool) { return r == hint, true },
	func(r role) (use, more bool) { return r == base, true },
	func(r role) (use, more bool) { return r == commit, r != commit },
	func(role) (use, more bool) { return true, true },
}

// compare records the files of a log that must be kept because the other bucket does not
// have them.
func (d *deletion) compare(ctx context.Context, folder string) error {
	for p, err := range pairs(ctx, d.from, d.other, folder, "") {
		if err != nil {
			return fmt.Errorf("compare log: %w", err)
		}
		if p.inFirst && !p.alike() && roleOf(p.name) != hint {
			d.keep(p.name)
		}
	}
	return nil
}

// each deletes the objects below a prefix that use selects, several at once. use also reports
// whether to go on after a pair.
func (d *deletion) each(ctx context.Context, prefix string, use func(pair) (use, more bool)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(d.Parallel)
	err := func() error {
		for p, err := range pairs(ctx, d.from, d.other, prefix, "") {
			if err != nil {
				return fmt.Errorf("compare source and target: %w", err)
			}
			if !p.inFirst {
				continue
			}
			used, more := use(p)
			if used {
				group.Go(func() error { return d.one(ctx, p) })
			}
			if !more {
				return nil
			}
		}
		return nil
	}()
	return firstError(group.Wait(), err)
}

// one deletes an object if it may.
func (d *deletion) one(ctx context.Context, p pair) error {
	end, err := d.begin(ctx, 0)
	if err != nil {
		return err
	}
	defer end()
	expendable := false
	err = retry(ctx, func() (err error) {
		if expendable = false; p.inSecond {
			expendable, err = d.expendable(ctx, d, p)
		}
		if expendable && err == nil {
			err = d.from.Delete(ctx, p.name)
		}
		return err
	})
	if errors.Is(err, objstore.ErrNotFound) {
		// Another engine has just deleted it, or its counterpart.
		var found bool
		if _, found, err = stat(ctx, d.from, p.name); err == nil && !found {
			return nil
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("delete %.200q: %w", p.name, err)
	case expendable:
		d.finished(p.first)
	default:
		d.keep(p.name)
	}
	return nil
}

// moved reports whether the target has the content of an object of the source. Equal sizes are no
// evidence for commits, nor for an object that was written after its copy.
func moved(ctx context.Context, d *deletion, p pair) (bool, error) {
	switch kind := roleOf(p.name); {
	case kind == hint:
		return true, nil
	case !p.alike():
		return false, nil
	case kind != commit && p.first.ModTime.Before(p.second.ModTime):
		return true, nil
	case kind != commit && p.first.ModTime.Equal(p.second.ModTime):
		if equal, _ := p.first.Sums.Compare(p.second.Sums); equal {
			return true, nil
		}
		equal, known, err := compareStored(ctx, d.from, d.other, p.name)
		return equal || !known, err
	}
	return sameContent(ctx, d.from, d.other, p.name)
}

// copied reports whether an object of the target has the content of the source's, which remains.
// Another writer may have created one with the same name. Hints contain nothing that can be lost.
func copied(ctx context.Context, d *deletion, p pair) (bool, error) {
	if roleOf(p.name) == hint {
		return true, nil
	}
	if !p.alike() {
		return false, nil
	}
	return sameContent(ctx, d.from, d.other, p.name)
}
