package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// probePrefix begins the name of a probe's folder. Its leading dot excludes the folder from
// discovery.
const probePrefix = ".lakewarden-probe-"

// cleanUpTime bounds the removal of a probe's objects, which runs even if the caller's context has
// ended.
const cleanUpTime = 10 * time.Second

// probeWriters is the number of writers that race for one name.
const probeWriters = 4

// Probe lists, writes, reads, races two kinds of writers for a name, and deletes, below a random
// folder of bucket. It continues after a failed check if further checks are useful; if the store
// cannot be reached, it skips them. The caller bounds its duration through ctx.
func Probe(ctx context.Context, bucket objstore.Bucket) Report {
	var random [16]byte
	rand.Read(random[:])
	p := &probe{bucket: bucket, folder: probePrefix + hex.EncodeToString(random[:]) + "/"}
	p.check(ctx, "list", p.list)
	if err := p.report.Err(); errors.Is(err, objstore.ErrUnavailable) || ctx.Err() != nil {
		for _, name := range []string{"put", "get", "put_if_absent", "delete"} {
			p.skip(name)
		}
		return p.report
	}
	defer p.cleanUp(ctx)
	written := p.check(ctx, "put", p.put)
	if written {
		p.check(ctx, "get", p.get)
	} else {
		p.skip("get")
	}
	if created := p.check(ctx, "put_if_absent", p.putIfAbsent); created || written {
		p.check(ctx, "delete", p.delete)
	} else {
		p.skip("delete")
	}
	return p.report
}

type probe struct {
	bucket objstore.Bucket
	folder string
	report Report
}

func (p *probe) check(ctx context.Context, name string, do func(context.Context) error) bool {
	start := time.Now()
	err := do(ctx)
	p.report.Checks = append(p.report.Checks, Check{
		Name:   name,
		OK:     err == nil,
		Millis: time.Since(start).Milliseconds(),
		Reason: reason(err),
		Err:    err,
	})
	return err == nil
}

func (p *probe) skip(name string) {
	p.report.Checks = append(p.report.Checks, Check{Name: name, Reason: reason(ErrSkipped), Err: ErrSkipped})
}

// list lists at most one object, because the bucket may be large.
func (p *probe) list(ctx context.Context) error {
	for _, err := range p.bucket.List(ctx, "", objstore.ListOptions{Shallow: true}) {
		return err
	}
	return nil
}

// content is long enough to be truncated by a proxy that mishandles bodies.
var content = bytes.Repeat([]byte("lakewarden probe\n"), 1000)

func (p *probe) put(ctx context.Context) error {
	return p.bucket.Put(ctx, p.folder+"put", bytes.NewReader(content), int64(len(content)))
}

func (p *probe) get(ctx context.Context) error {
	whole, err := p.bucket.Get(ctx, p.folder+"put")
	if err := same(whole, err, content); err != nil {
		return err
	}
	part, err := p.bucket.GetRange(ctx, p.folder+"put", -100, 50)
	if err := same(part, err, content[len(content)-100:len(content)-50]); err != nil {
		return err
	}
	for object, err := range p.bucket.List(ctx, p.folder, objstore.ListOptions{}) {
		if err != nil {
			return err
		}
		if object.Name == p.folder+"put" && object.Size == int64(len(content)) {
			return nil
		}
	}
	return fmt.Errorf("%w: written object is not listed", ErrContent)
}

func same(body io.ReadCloser, err error, want []byte) error {
	if err != nil {
		return err
	}
	defer body.Close()
	got, err := io.ReadAll(io.LimitReader(body, int64(len(want))+1))
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%w: %d bytes read, %d written", ErrContent, len(got), len(want))
	}
	return nil
}

// putIfAbsent verifies the guarantee on which commits depend: first with a second writer that comes
// later (for stores that ignore the condition), then with concurrent writers (for stores that check
// before they write).
func (p *probe) putIfAbsent(ctx context.Context) error {
	first := []byte("first writer")
	if err := p.bucket.PutIfAbsent(ctx, p.folder+"in-turn", first); err != nil {
		return err
	}
	err := p.bucket.PutIfAbsent(ctx, p.folder+"in-turn", []byte("second writer"))
	if err == nil {
		return fmt.Errorf("%w: the second writer won as well", ErrNotAtomic)
	}
	if !errors.Is(err, objstore.ErrExists) {
		return err
	}
	if err := p.winner(ctx, "in-turn", first); err != nil {
		return err
	}

	errs := make([]error, probeWriters)
	var writers sync.WaitGroup
	for i := range errs {
		writers.Go(func() { errs[i] = p.bucket.PutIfAbsent(ctx, p.folder+"together", writerBody(i)) })
	}
	writers.Wait()
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won >= 0:
			return fmt.Errorf("%w: writers %d and %d both won", ErrNotAtomic, won, i)
		case err == nil:
			won = i
		case !errors.Is(err, objstore.ErrExists):
			return err
		}
	}
	if won < 0 {
		return fmt.Errorf("%w: no writer won", ErrNotAtomic)
	}
	return p.winner(ctx, "together", writerBody(won))
}

func writerBody(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "writer %d\n", i), 100) }

func (p *probe) winner(ctx context.Context, name string, want []byte) error {
	body, err := p.bucket.Get(ctx, p.folder+name)
	err = same(body, err, want)
	if errors.Is(err, ErrContent) {
		return fmt.Errorf("%w: the object is not the winner's", ErrNotAtomic)
	}
	return err
}

func (p *probe) delete(ctx context.Context) error {
	names, err := p.left(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.bucket.Delete(ctx, name); err != nil {
			return err
		}
		_, err := p.bucket.Stat(ctx, name)
		if err == nil {
			return fmt.Errorf("%w: deleted object still exists", ErrContent)
		}
		if !errors.Is(err, objstore.ErrNotFound) {
			return err
		}
	}
	return nil
}

// left returns the probe's objects that exist.
func (p *probe) left(ctx context.Context) ([]string, error) {
	var names []string
	for object, err := range p.bucket.List(ctx, p.folder, objstore.ListOptions{}) {
		if err != nil {
			return names, err
		}
		if strings.HasPrefix(object.Name, p.folder) {
			names = append(names, object.Name)
		}
	}
	return names, nil
}

// cleanUp removes everything that the probe wrote, even if listing is refused or the outcome of a
// write was unknown.
func (p *probe) cleanUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	for _, name := range []string{"put", "in-turn", "together"} {
		// The error is ignored: the delete check reports a store that refuses to delete.
		_ = p.bucket.Delete(ctx, p.folder+name)
	}
}
