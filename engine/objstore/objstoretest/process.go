package objstoretest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/objstore"
)

// The environment variables that turn a test binary into one writer of RunProcesses.
const (
	envWriter   = "LAKEWARDEN_OBJSTORETEST_WRITER"
	envLocation = "LAKEWARDEN_OBJSTORETEST_LOCATION"
)

const (
	processes = 6
	doomed    = 3 // number of writers that are killed while they write
	contested = 60
)

// WriterMain is called at the top of TestMain of a package that calls RunProcesses: in a child
// process it opens the bucket, writes, and exits. In any other process it returns.
func WriterMain(open func(location string) (objstore.Bucket, error)) {
	id, err := strconv.Atoi(os.Getenv(envWriter))
	if err != nil {
		return
	}
	bucket, err := open(os.Getenv(envLocation))
	if err != nil {
		report("error", err)
		os.Exit(1)
	}
	// The parent starts all writers at once.
	if _, err := io.ReadAll(os.Stdin); err != nil {
		os.Exit(1)
	}
	for i := range contested {
		err := bucket.PutIfAbsent(context.Background(), contestedName(i), contestedBody(id, i))
		switch {
		case err == nil:
			report("won", i)
		case errors.Is(err, objstore.ErrExists):
			report("lost", i)
		default:
			report("error", err)
			os.Exit(1)
		}
	}
	os.Exit(0)
}

// report sends words to the parent. If the parent has ended, it exits.
func report(words ...any) {
	if _, err := fmt.Fprintln(os.Stdout, words...); err != nil {
		os.Exit(1)
	}
}

func contestedName(i int) string { return fmt.Sprintf("t/_delta_log/%020d.json", i) }

// contestedBody returns a body that can be verified: its first line has the writer and the hash of
// the rest, which is long enough to reveal partial reads.
func contestedBody(writer, i int) []byte {
	random := rand.New(rand.NewPCG(uint64(writer), uint64(i)))
	rest := make([]byte, 1+random.IntN(256<<10))
	for at := range rest {
		rest[at] = byte(random.Uint32())
	}
	return append(fmt.Appendf(nil, "%d %x\n", writer, sha256.Sum256(rest)), rest...)
}

// readContested returns the writer of a complete object.
func readContested(bucket objstore.Bucket, name string) (writer int, err error) {
	body, err := bucket.Get(context.Background(), name)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		return 0, err
	}
	head, rest, _ := strings.Cut(string(content), "\n")
	var sum string
	if _, err := fmt.Sscanf(head, "%d %s", &writer, &sum); err != nil {
		return 0, fmt.Errorf("%s: torn first line of %d bytes", name, len(content))
	}
	if got := fmt.Sprintf("%x", sha256.Sum256([]byte(rest))); got != sum {
		return 0, fmt.Errorf("%s: torn object of %d bytes", name, len(content))
	}
	return writer, nil
}

// RunProcesses lets processes race for the same names through PutIfAbsent and kills some of them:
// every name has one winner and, whenever it is visible, all of the winner's content. location is
// the argument of the children's open; bucket is the parent's view of the same, empty place.
func RunProcesses(t *testing.T, bucket objstore.Bucket, location string) {
	children := make([]*child, processes)
	for id := range children {
		children[id] = startChild(t, id, location)
	}
	for _, c := range children {
		require.NoError(t, c.begin.Close())
	}
	finished := make(chan struct{})
	watched := make(chan error, 1)
	go func() { watched <- watch(bucket, finished) }()

	var reading sync.WaitGroup
	for id, c := range children {
		reading.Go(func() {
			killAt := -1
			if id < doomed {
				killAt = contested * (id + 1) / (doomed + 2)
			}
			c.follow(killAt)
		})
	}
	reading.Wait()
	close(finished)
	require.NoError(t, <-watched)

	reported := map[int]int{} // the winner of each name according to itself
	for id, c := range children {
		require.Empty(t, c.failure, "writer %d", id)
		if id >= doomed {
			require.Equal(t, contested, c.reports, "writer %d came through", id)
		}
		for _, i := range c.won {
			other, twice := reported[i]
			require.False(t, twice, "object %d: writers %d and %d both won", i, other, id)
			reported[i] = id
		}
	}
	for i := range contested {
		writer, err := readContested(bucket, contestedName(i))
		require.NoError(t, err)
		if winner, told := reported[i]; told {
			require.Equal(t, winner, writer, "object %d holds another's content", i)
		} else {
			require.Less(t, writer, doomed, "object %d: only the dead win without a word", i)
		}
	}
	require.Len(t, MustList(t, bucket, ""), contested, "leftovers of the dead are not visible")
}

// watch reads the visible objects until the writers have finished.
func watch(bucket objstore.Bucket, finished <-chan struct{}) error {
	after := ""
	for {
		for object, err := range bucket.List(context.Background(), "", objstore.ListOptions{StartAfter: after}) {
			if err != nil {
				return err
			}
			if _, err := readContested(bucket, object.Name); err != nil {
				return err
			}
			after = object.Name
		}
		select {
		case <-finished:
			return nil
		default:
		}
	}
}

// child is a writer process as seen by its parent.
type child struct {
	command *exec.Cmd
	begin   io.Closer
	output  io.Reader

	reports int
	won     []int
	failure string
}

func startChild(t *testing.T, id int, location string) *child {
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), self)
	command.Env = append(os.Environ(), envWriter+"="+strconv.Itoa(id), envLocation+"="+location)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		// Only needed if the test failed earlier; otherwise the process has been waited for.
		if command.ProcessState == nil {
			_ = command.Wait()
		}
	})
	return &child{command: command, begin: input, output: output}
}

// follow reads a child's reports to the end. After report killAt it kills the child without a
// chance to clean up: the child is then writing a later object.
func (c *child) follow(killAt int) {
	lines := bufio.NewScanner(c.output)
	for lines.Scan() {
		c.reports++
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch i, err := strconv.Atoi(rest); {
		case word == "won" && err == nil:
			c.won = append(c.won, i)
		case word != "lost":
			c.failure = lines.Text()
		}
		if c.reports == killAt {
			_ = c.command.Process.Kill()
		}
	}
	if err := c.command.Wait(); err != nil && killAt < 0 && c.failure == "" {
		c.failure = err.Error()
	}
}
