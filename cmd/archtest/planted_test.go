package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// The generators of planted tables, which judge the detectors of package engine/analysis.
const (
	generators = "bench/data/planted"
	detectors  = "engine/analysis"
)

const (
	// minListed is the number of words from which on a list of a generator is compared.
	minListed = 10
	// maxShared is the part of such a list that may be in one list of a detector: common
	// words are in both by chance.
	maxShared = 0.4
)

// closedLists are the lists of generators that may be in a detector's, each with a reason.
var closedLists = map[string]string{
	"typed.COUNTRIES":      "names of ISO 3166",
	"typed.COUNTRY_CODES":  "codes of ISO 3166",
	"typed.STATES":         "names of ISO 3166-2",
	"typed.STATE_CODES":    "codes of ISO 3166-2",
	"typed.CURRENCIES":     "codes of ISO 4217",
	"typed.LANGUAGES":      "names of ISO 639",
	"typed.LANGUAGE_CODES": "codes of ISO 639",
	"typed.COLORS":         "the basic words of a language are a closed set",
	"typed.MONTHS":         "there are twelve",
	"typed.FORMS":          "the legal forms of companies are few",
	"people.STREET_KINDS":  "the words for streets are few",
	"people.NICKNAMES":     "the finding of duplicates uses no list of names",
	"people.EAR":           "pairs of letters, not words",
	"people.EYE":           "pairs of letters, not words",
	"placeholders.SCHEMA":  "names and types of columns",
	"typed.OPAQUE":         "the semantic types of the interface",
	"typed.NAMED":          "the semantic types of the interface",
	"placeholders.PLANTED": "the conventional ways to write that a value is missing are few",
}

// plantedImports are the modules that generators may import.
var plantedImports = regexp.MustCompile(`^(collections|datetime|decimal|duckdb|deltalake|ipaddress|json|math|os|pathlib|pyarrow|random|` +
	`re|shutil|splink|sys|time|unicodedata|uuid)$`)

// TestGeneratorsShareNothingWithDetectors checks that no list of words of a generator is also
// in a detector, and that neither imports the other.
func TestGeneratorsShareNothingWithDetectors(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	shared, names, err := sharedLists(root)
	require.NoError(t, err)
	require.Empty(t, shared)
	require.Greater(t, len(names), 20, "the lists of the generators were not found")
	for name := range closedLists {
		require.Contains(t, names, name, "an exception without a list")
	}

	tree, err := readTree(root)
	require.NoError(t, err)
	for _, folder := range tree {
		if folder.path != "bench" {
			continue
		}
		for _, file := range folder.files {
			for _, imported := range file.imports {
				target, ok := ours(imported)
				require.False(t, ok && within(target, detectors), "%s imports %s", file.name, target)
			}
		}
	}
}

func TestSharedListsAreCaught(t *testing.T) {
	const words = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
	quoted := `"` + strings.ReplaceAll(words, " ", `", "`) + `"`
	generator := func(list string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("import random\n" + list + "\n\ndef f():\n    pass\n")}
	}
	detector := func(list string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package x\n\nvar list = " + list + "\n")}
	}
	cases := []struct {
		name, generator, detector string
		caught                    bool
	}{
		{"the same list", "NAMES = [" + quoted + "]", "[]string{" + quoted + "}", true},
		{"in other case and form", "NAMES = \"\"\"\n    " + words + "\n\"\"\".split()", "map[string]int{" +
			strings.ToUpper(strings.ReplaceAll(quoted, ",", ": 1,")) + ": 1}", true},
		{"words of one text", "NAMES = \"" + words + "\".split()", "`\n" + strings.ReplaceAll(words, " ", "\n") + "\n`", true},
		{"half of it in nested lists", "NAMES = [" + quoted + "]", `[][]string{{"alpha", "beta"}, {"gamma", "delta", "eta"}}`, true},
		{"a few words", "NAMES = [" + quoted + "]", `[]string{"alpha", "beta", "gamma", "delta"}`, false},
		{"a short list", `NAMES = ["alpha", "beta"]`, "[]string{" + quoted + "}", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found, _, err := sharedLists(fstest.MapFS{
				generators + "/people.py":      generator(c.generator),
				detectors + "/x/x.go":          detector(c.detector),
				detectors + "/x/list_test.go":  detector("[]string{" + quoted + "}"),
				detectors + "/x/data/note.txt": {Data: []byte("nothing")},
			})
			require.NoError(t, err)
			require.Equal(t, c.caught, len(found) > 0, "%v", found)
		})
	}
	t.Run("embedded file", func(t *testing.T) {
		found, _, err := sharedLists(fstest.MapFS{
			generators + "/people.py":       generator("NAMES = [" + quoted + "]"),
			detectors + "/x/data/names.txt": {Data: []byte(strings.ReplaceAll(words, " ", "\n"))},
		})
		require.NoError(t, err)
		require.Len(t, found, 1)
	})
	t.Run("import", func(t *testing.T) {
		found, _, err := sharedLists(fstest.MapFS{
			generators + "/people.py": {Data: []byte("from faker import Faker\n")}, detectors + "/x/x.go": detector("1"),
		})
		require.NoError(t, err)
		require.Equal(t, []string{generators + "/people.py imports faker"}, found)
	})
}

// sharedLists returns the lists of generators that are in a list of a detector, one line each,
// and the names of all lists of generators.
func sharedLists(root fs.FS) (found []string, names map[string]bool, err error) {
	known, err := detectorLists(root)
	if err != nil {
		return nil, nil, err
	}
	files, err := fs.Glob(root, generators+"/*.py")
	if err != nil {
		return nil, nil, err
	}
	names = map[string]bool{}
	for _, file := range files {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return nil, nil, err
		}
		for _, module := range pythonImport.FindAllSubmatch(text, -1) {
			if !plantedImports.Match(module[1]) {
				found = append(found, file+" imports "+string(module[1]))
			}
		}
		for _, list := range pythonList.FindAllStringSubmatch(string(text), -1) {
			name := strings.TrimSuffix(path.Base(file), ".py") + "." + list[1]
			words := pythonWords(list[2])
			names[name] = true
			if len(words) < minListed || closedLists[name] != "" {
				continue
			}
			for where, other := range known {
				if n := len(shared(words, other)); float64(n) > maxShared*float64(len(words)) {
					found = append(found, name+": "+strconv.Itoa(n)+" of "+strconv.Itoa(len(words))+" words are in a list of "+where)
				}
			}
		}
	}
	return found, names, nil
}

var (
	pythonImport = regexp.MustCompile(`(?m)^(?:from|import) (\w+)`)
	// pythonList matches a constant of a module, up to the next line that is not indented.
	pythonList   = regexp.MustCompile(`(?m)^([A-Z][A-Z_]+) = (.*(?:\n(?:[ \t].*)?$)*)`)
	pythonString = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
)

// pythonWords returns the words of a list: its texts, or those of one text that is split.
func pythonWords(list string) map[string]bool {
	words := map[string]bool{}
	if strings.HasPrefix(list, `"`) {
		text, _, _ := strings.Cut(strings.TrimLeft(list, `"`), `"`)
		addWords(words, strings.Fields(text)...)
		return words
	}
	for _, text := range pythonString.FindAllStringSubmatch(list, -1) {
		addWords(words, text[1])
	}
	return words
}

func addWords(words map[string]bool, texts ...string) {
	for _, text := range texts {
		if text = strings.ToLower(strings.TrimSpace(text)); text != "" {
			words[text] = true
		}
	}
}

func shared(a, b map[string]bool) (both []string) {
	for word := range a {
		if b[word] {
			both = append(both, word)
		}
	}
	return both
}

// detectorLists returns the words of each list in the detectors: composite literals, with those
// in them, long texts, and files that are not Go.
func detectorLists(root fs.FS) (map[string]map[string]bool, error) {
	lists := map[string]map[string]bool{}
	err := fs.WalkDir(root, detectors, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if !strings.HasSuffix(name, ".go") {
			lists[name] = map[string]bool{}
			addWords(lists[name], strings.FieldsFunc(string(text), separates)...)
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node.(type) {
			case *ast.CompositeLit, *ast.BasicLit:
				if words := goWords(node); len(words) > 0 {
					lists[name+":"+strconv.Itoa(set.Position(node.Pos()).Line)] = words
				}
				return false
			}
			return true
		})
		return nil
	})
	return lists, err
}

// goWords returns the texts of a literal and the words in them.
func goWords(literal ast.Node) map[string]bool {
	words := map[string]bool{}
	ast.Inspect(literal, func(node ast.Node) bool {
		if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING {
			if value, err := strconv.Unquote(text.Value); err == nil {
				addWords(words, value)
				addWords(words, strings.FieldsFunc(value, separates)...)
			}
		}
		return true
	})
	return words
}

// separates reports whether a character separates the words of a text.
func separates(r rune) bool { return strings.ContainsRune(" \t\r\n,;|", r) }
