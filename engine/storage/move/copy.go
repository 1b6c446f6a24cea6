package move

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/objstore"
)

// maxRounds bounds the listings after which a copy gives up because the source does not stop
// changing.
const maxRounds = 10

// Copy copies all objects to the target and verifies them: first the data, then each log, oldest
// version first. It ends when a listing of both shows that nothing is missing, so it includes
// commits that another engine writes meanwhile. It returns the number and the size of the objects
// that it leaves at the target, including those of an earlier run.
//
// Without resume, the target must be vacant. With resume, objects that an earlier run has copied are
// not copied again, and the target must not have any others. Errors: ErrOccupied, ErrDamaged, and
// ErrSourceChanged if the source does not stop changing.
func (j Job) Copy(ctx context.Context, resume bool) (Count, error) {
	if !resume {
		if err := j.Vacant(ctx); err != nil {
			return Count{}, err
		}
	}
	r := j.run()
	for number := 1; ; number++ {
		round := copying{run: r, fresh: !resume && number == 1, resumed: resume && number == 1}
		if err := round.data(ctx); err != nil {
			return Count{}, err
		}
		// A log that was complete before this listing began refers only to data that existed then.
		// The listing has shown that the target has all of it.
		if round.missing.Count == 0 && !round.resumed {
			return round.all, nil
		}
		if number == maxRounds {
			return Count{}, &round.missing
		}
		if err := round.logs(ctx); err != nil {
			return Count{}, err
		}
	}
}

// copying is one round of a copy.
type copying struct {
	*run
	// fresh reports that the move has not copied anything before this round, and resumed that the
	// target may have objects of an earlier run, which are compared.
	fresh, resumed bool
	// all counts the objects of the source, and missing those that the target did not have.
	all     Count
	missing ChangedError
	// folders are those of the logs of which something may be missing, in byte order.
	folders []string
}

// data copies what is missing of the objects outside the logs.
func (c *copying) data(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.Parallel)
	err := c.eachData(ctx, group)
	return firstError(group.Wait(), err)
}

// firstError returns the error of the work if there is one: the error of the listing is then that of
// its cancelled context.
func firstError(work, listing error) error {
	if work != nil {
		return work
	}
	return listing
}

func (c *copying) eachData(ctx context.Context, group *errgroup.Group) error {
	for p, err := range pairs(ctx, c.Source, c.Target, "", "") {
		switch {
		case err != nil:
			return fmt.Errorf("compare source and target: %w", err)
		case !p.inFirst && c.resumed:
			return occupied(p.name)
		case !p.inFirst:
			// Another engine has deleted the object since it was copied.
			continue
		case p.inSecond && c.fresh:
			return occupied(p.name)
		}
		c.all.add(p.first)
		if !p.alike() {
			c.missing.add(p.name)
		}
		folder := logFolder(p.name)
		switch {
		case p.alike() && !c.resumed:
			c.check(ctx, group, p)
		case folder == "":
			c.one(ctx, group, p)
		case len(c.folders) == 0 || c.folders[len(c.folders)-1] != folder:
			c.folders = append(c.folders, folder)
		}
	}
	return nil
}

// checkedByListing reports whether the checksums in the next listings verify the copy of an object. Commits are
// verified when they are created, and a hint may change at any time.
func checkedByListing(name string) bool {
	kind := roleOf(name)
	return kind != commit && kind != hint
}

// check verifies a copy of an earlier round, unless the listings have equal checksums. A damaged one is
// copied again.
func (c *copying) check(ctx context.Context, group *errgroup.Group, p pair) {
	if !checkedByListing(p.name) || !p.differs() {
		return
	}
	group.Go(func() error {
		end, err := c.begin(ctx, p.first.Size)
		if err != nil {
			return err
		}
		defer end()
		err = retry(ctx, func() error {
			err := c.verifyCopy(ctx, p.name)
			if errors.Is(err, ErrDamaged) {
				_, err = c.stream(ctx, objstore.Object{Name: p.name, Size: -1}, c.Target.Put)
			}
			return err
		})
		if errors.Is(err, objstore.ErrNotFound) {
			return nil // another engine has just deleted one of them
		}
		return err
	})
}

// one copies the object of a pair in the background, if it is missing. In a resumed copy it compares
// what an earlier run has left.
func (c *copying) one(ctx context.Context, group *errgroup.Group, p pair) {
	if p.alike() && !c.resumed {
		return
	}
	group.Go(func() error {
		end, err := c.begin(ctx, p.first.Size)
		if err != nil {
			return err
		}
		defer end()
		if p.alike() {
			valid, err := c.stillValid(ctx, p.name)
			if err != nil {
				return err
			}
			if valid {
				c.finished(p.first)
				return nil
			}
		}
		copied, err := c.copy(ctx, p)
		if copied {
			c.finished(p.first)
		}
		return err
	})
}

// logs copies each log of which something is missing, several at once.
func (c *copying) logs(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.Parallel)
	for _, folder := range c.folders {
		group.Go(func() error { return c.log(ctx, folder) })
	}
	return group.Wait()
}

// log copies what is missing of a log: sidecars and other files to which the versions refer, then
// the versions, oldest first, then the hint.
func (c *copying) log(ctx context.Context, folder string) error {
	if err := c.files(ctx, folder, folder+afterVersions, ""); err != nil {
		return err
	}
	if err := c.files(ctx, folder, "", folder+afterVersions); err != nil {
		return err
	}
	return c.hint(ctx, folder[:len(folder)-len(logpath.Dir)]+logpath.LastCheckpoint)
}

// files copies what is missing of the files of a log with names between two bounds, the hint
// excepted. Copies begin in the order of the names.
func (c *copying) files(ctx context.Context, folder, after, before string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(c.Parallel)
	err := func() error {
		for p, err := range pairs(ctx, c.Source, c.Target, folder, after) {
			switch {
			case err != nil:
				return fmt.Errorf("compare log: %w", err)
			case before != "" && p.name >= before:
				return nil
			case p.inFirst && p.inSecond && c.fresh:
				return occupied(p.name)
			case p.inFirst && roleOf(p.name) != hint:
				c.one(ctx, group, p)
			}
		}
		return nil
	}()
	return firstError(group.Wait(), err)
}

// hint copies the hint of a log, if there is one. It is copied again even if the sizes are equal,
// because another engine replaces it.
func (c *copying) hint(ctx context.Context, name string) error {
	object, found, err := stat(ctx, c.Source, name)
	if err != nil || !found {
		return err
	}
	target, exists, err := stat(ctx, c.Target, name)
	if err == nil && exists && c.fresh {
		err = occupied(name)
	}
	if err != nil {
		return err
	}
	copied, err := c.copy(ctx, pair{name: name, first: object, second: target, inFirst: true, inSecond: exists})
	if copied && (!exists || c.resumed) {
		c.finished(object)
	}
	return err
}
