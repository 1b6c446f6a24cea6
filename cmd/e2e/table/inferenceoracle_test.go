package table_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// inferenceOracle describes the files of testdata/inference with Python's csv module and
// DuckDB's TRY_CAST.
//
//go:embed testdata/inference/oracle.py
var inferenceOracle string

const inferenceFiles = "testdata/inference"

// awkwardFile is an entry of index.json.
type awkwardFile struct {
	File, Why string
	Given     map[string]string
	Dialect   object
}

// described is the oracle's description of a file.
type described struct {
	Fields     list
	RowCount   float64
	Ragged     []float64
	Candidates map[string]list
}

// ragged returns the lines of problems about the number of fields, and the other problems.
func ragged(problems list) (lines []float64, others []string) {
	lines = []float64{}
	for _, p := range problems {
		p := p.(object)
		if strings.Contains(p["message"].(string), " fields; ") {
			lines = append(lines, p["line"].(float64))
			continue
		}
		others = append(others, fmt.Sprintf("%v: %v", p["line"], p["message"]))
	}
	return lines, others
}

// TestInferenceAgreesWithAnOracle compares types, NULLs, numbers of rows, ragged lines and
// domain candidates of awkward files with those of an independent program, and loads the
// files that have no problem.
func TestInferenceAgreesWithAnOracle(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	var files []awkwardFile
	text, err := os.ReadFile(filepath.Join(inferenceFiles, "index.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &files))
	require.GreaterOrEqual(t, len(files), 40)
	out := filepath.Join(t.TempDir(), "described.json")
	harness.Python(t, inferenceOracle, inferenceFiles, out)
	text, err = os.ReadFile(out)
	require.NoError(t, err)
	want := map[string]described{}
	require.NoError(t, json.Unmarshal(text, &want))
	otherProblems := map[string][]string{
		"ambiguous_dates.csv": {"2: every day is at most 12, so that the order of day and month is unknown: set csv_date_format to %d/%m/%Y or " +
			"%m/%d/%Y"},
		"bad_utf8.csv": {"3: the text is not UTF-8"},
		"preamble.csv": {"1: the lines before line 3 are not taken for rows: set csv_skip"},
		"comments.csv": {"1: lines that begin with # are taken for comments: set csv_comment (number of lines: 3)"},
		"null_words.csv": {"2: NA is taken for NULL in the column v, of which all other values are decimal128(2,1): set csv_null",
			"3: NA is taken for NULL in the column d, of which all other values are date32: set csv_null"},
		"null_words_in_text.csv": {"2: NA is taken for NULL in the column v, of which all other values are decimal128(2,1): set csv_null"},
		"null_dash.csv":          {"2: - is taken for NULL in the column v, of which all other values are int64: set csv_null"},
	}
	for i, file := range files {
		content, err := os.ReadFile(filepath.Join(inferenceFiles, file.File))
		require.NoError(t, err)
		forms := map[string]string{"": string(content), "gzip": gzipped(t, string(content)), "zstd": zstandard(t, string(content))}
		for coding, sent := range forms {
			name := fmt.Sprintf("awkward_%d_%s", i, coding)
			fields := []string{"schema", s.Schema, "name", name}
			for option, value := range file.Given {
				fields = append(fields, option, value)
			}
			about := fmt.Sprintf("%s (%s) %s", file.File, file.Why, coding)
			r := s.Admin.Infer(harness.Upload{Name: file.File, Content: sent, Fields: fields})
			require.Equal(t, 200, r.Status, "%s: %s", about, r.Body)
			got, expected := r.JSON(t), want[file.File]
			var types list
			position := map[string]int{}
			for n, f := range got["schema"].(object)["fields"].(list) {
				types = append(types, object{"type": f.(object)["type"], "nullable": f.(object)["nullable"]})
				position[f.(object)["name"].(string)] = n
			}
			require.Equal(t, expected.Fields, types, about)
			require.EqualValues(t, expected.RowCount, got["rowCount"], about)
			candidates := map[string]list{}
			for _, c := range got["domainCandidates"].(list) {
				c := c.(object)
				candidates[strconv.Itoa(position[c["columnName"].(string)])] = c["values"].(list)
				require.Len(t, c["values"], int(c["distinctCount"].(float64)))
			}
			require.Equal(t, expected.Candidates, candidates, about)
			lines, others := ragged(got["problems"].(list))
			require.Equal(t, expected.Ragged, lines, about)
			require.Equal(t, otherProblems[file.File], others, about)
			dialect := got["dialect"].(object)
			require.Equal(t, coding, or(dialect["compression"]))
			delete(dialect, "compression")
			require.Equal(t, file.Dialect, dialect, about)
			guessed := !slices.ContainsFunc(others, func(p string) bool { return !strings.Contains(p, " taken for ") })
			if len(lines) == 0 && guessed && (coding == "" || i%7 == 0) {
				require.EqualValues(t, expected.RowCount, load(s, got, sent), about)
			}
		}
	}
}

func or(text any) string {
	if text == nil {
		return ""
	}
	return text.(string)
}
