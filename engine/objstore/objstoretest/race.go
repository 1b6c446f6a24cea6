package objstoretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// testRacePutIfAbsent: one of N writers wins each name, and the content is the winner's.
func testRacePutIfAbsent(t *testing.T, bucket objstore.Bucket, config Config) {
	ctx := context.Background()
	for round := range 20 {
		name := fmt.Sprintf("t/_delta_log/%020d.json", round)
		errs := make([]error, config.Writers)
		start := make(chan struct{})
		var done sync.WaitGroup
		for writer := range config.Writers {
			done.Go(func() {
				<-start
				errs[writer] = bucket.PutIfAbsent(ctx, name, raceBody(writer))
			})
		}
		close(start)
		done.Wait()
		winner := -1
		for writer, err := range errs {
			if err == nil {
				require.Equal(t, -1, winner, "round %d: writers %d and %d both won", round, winner, writer)
				winner = writer
				continue
			}
			require.ErrorIs(t, err, objstore.ErrExists, "round %d writer %d", round, writer)
		}
		require.GreaterOrEqual(t, winner, 0, "round %d: no writer won", round)
		require.Equal(t, string(raceBody(winner)), MustGet(t, bucket, name), "round %d", round)
	}
}

func raceBody(writer int) []byte {
	return []byte(strings.Repeat(fmt.Sprintf("writer %d\n", writer), 50*(writer+1)))
}

// testRacePut: readers of an object that is being replaced see complete versions only.
func testRacePut(t *testing.T, bucket objstore.Bucket, _ Config) {
	versions := []string{strings.Repeat("short\n", 10), strings.Repeat("a longer version\n", 20_000)}
	MustPut(t, bucket, "o", versions[0])
	var (
		written = make(chan error, 1)
		stop    = make(chan struct{})
		readers sync.WaitGroup
		mu      sync.Mutex
		bad     error
	)
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := readVersion(bucket, versions); err != nil {
					mu.Lock()
					bad = err
					mu.Unlock()
					return
				}
			}
		})
	}
	go func() {
		var err error
		for i := 0; i < 40 && err == nil; i++ {
			version := versions[i%2]
			err = bucket.Put(context.Background(), "o", strings.NewReader(version), int64(len(version)))
		}
		written <- err
	}()
	require.NoError(t, <-written)
	close(stop)
	readers.Wait()
	require.NoError(t, bad)
}

func readVersion(bucket objstore.Bucket, versions []string) error {
	body, err := bucket.Get(context.Background(), "o")
	if err != nil {
		return err
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	for _, version := range versions {
		if string(content) == version {
			return nil
		}
	}
	return fmt.Errorf("torn object of %d bytes", len(content))
}

// testRaceDelete: deleting the last object of a folder does not disturb concurrent creation of the
// next, or listings.
func testRaceDelete(t *testing.T, bucket objstore.Bucket, _ Config) {
	ctx := context.Background()
	errs := make([]error, 4)
	var done sync.WaitGroup
	for worker := range errs {
		done.Go(func() {
			name := fmt.Sprintf("deep/er/folder/%d", worker)
			for range 40 {
				errs[worker] = errors.Join(
					bucket.PutIfAbsent(ctx, name, []byte("x")),
					bucket.Delete(ctx, name),
				)
				for _, err := range bucket.List(ctx, "deep/", objstore.ListOptions{}) {
					errs[worker] = errors.Join(errs[worker], err)
				}
				if errs[worker] != nil {
					return
				}
			}
		})
	}
	done.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Empty(t, MustList(t, bucket, ""))
}
