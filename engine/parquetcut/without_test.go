package parquetcut_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lakewarden/lakewarden/engine/objstore/file"
	"github.com/lakewarden/lakewarden/engine/oracletest"
	"github.com/lakewarden/lakewarden/engine/parquetcut"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// made is a file of testdata/files.py.
type made struct {
	Name string
	Rows int64
	// Pages says that the file can be cut at any row.
	Pages bool
}

// judged is a file that was cut.
type judged struct {
	File string `json:"file"`
	Cut  string `json:"cut"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
	// Bounds are those that are said of the new file.
	Bounds []parquetcut.Bounds `json:"bounds"`
}

// python runs testdata/files.py and reads what it prints.
func python(t *testing.T, input, output any, args ...string) {
	t.Helper()
	in, err := json.Marshal(input)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), oracletest.Python(t), append([]string{"-B", "testdata/files.py"}, args...)...) //nolint:gosec // the interpreter of the tests
	var stderr strings.Builder
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	require.NoError(t, json.Unmarshal(out, output))
}

// TestWhatIsLeftAreTheOtherRows: pyarrow and DuckDB read of a file that was cut the rows
// outside of the gap, in their order, whoever wrote the file. Statistics are those of
// these rows, and there wherever the file had such of its pages.
func TestWhatIsLeftAreTheOtherRows(t *testing.T) {
	const files, seed = 60, 1
	dir := t.TempDir()
	bucket, err := file.New(dir)
	require.NoError(t, err)
	var all []made
	python(t, nil, &all, "write", dir, strconv.Itoa(seed), strconv.Itoa(files))
	r := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // reproducible
	var cuts []judged
	inner := 0
	for _, m := range all {
		info, err := os.Stat(filepath.Join(dir, m.Name))
		require.NoError(t, err)
		f, err := parquetcut.Open(t.Context(), bucket, m.Name, info.Size())
		require.NoError(t, err, m.Name)
		require.Equal(t, m.Rows, f.Rows())
		for n := range 4 {
			from := r.Int64N(m.Rows)
			hit := parquetcut.Rows{From: from, To: from + 1 + r.Int64N(min(m.Rows-from, 1+m.Rows/4))}
			gap, err := f.Gap(hit, r.Int64N(1+m.Rows/4))
			require.NoError(t, err)
			require.True(t, gap.From <= hit.From && gap.To >= hit.To && gap.From >= 0 && gap.To <= m.Rows, "%v of %v", gap, hit)
			if gap.Count() == m.Rows {
				continue
			}
			name := fmt.Sprintf("cut%d-%s", n, m.Name)
			bounds, err := without(t.Context(), f, gap, filepath.Join(dir, name))
			if errors.Is(err, parquetcut.ErrNotCut) && !m.Pages {
				continue
			}
			require.NoError(t, err, "%s without %v", m.Name, gap)
			cuts = append(cuts, judged{m.Name, name, gap.From, gap.To, bounds})
			if m.Pages && gap.From > 0 && gap.To < m.Rows {
				inner++
			}
		}
	}
	t.Logf("%d files cut, %d of them in their middle", len(cuts), inner)
	require.Greater(t, inner, files/4)
	var wrong []string
	python(t, cuts, &wrong, "judge", dir)
	require.Empty(t, wrong)
}

// without writes a file without a gap.
func without(ctx context.Context, f *parquetcut.File, gap parquetcut.Rows, path string) (bounds []parquetcut.Bounds, err error) {
	out, err := os.Create(path) //nolint:gosec // a folder of the test
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	later, err := os.Create(path + ".later") //nolint:gosec // a folder of the test
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, later.Close()) }()
	size, bounds, err := f.Without(ctx, gap, out, later)
	if err != nil {
		return nil, err
	}
	info, err := out.Stat()
	if err == nil && info.Size() != size {
		err = fmt.Errorf("%d bytes are said to be %d", info.Size(), size)
	}
	return bounds, err
}
