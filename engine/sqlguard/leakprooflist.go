package sqlguard

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed leakproof.txt
var leakProofText string

// leakProof is read-only after the package is initialised.
var leakProof = mustReadLeakProof(leakProofText)

// leakList is the set of operations that may see hidden rows, for one build of
// the engine.
type leakList struct {
	engine string
	// names holds forms, arithmetic, aggregates and casts: "section name".
	names map[string]bool
	// functions maps a name to its signatures.
	functions map[string][]signature
}

// signature is what a function of the list takes and returns.
type signature struct {
	name      string
	arguments []string
	result    string
}

func (l *leakList) has(section, name string) bool { return l.names[section+" "+name] }

func mustReadLeakProof(text string) *leakList {
	l := &leakList{names: map[string]bool{}, functions: map[string][]signature{}}
	section := ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch version, isEngine := strings.CutPrefix(line, "engine "); {
		case line == "" || strings.HasPrefix(line, "#"):
		case isEngine:
			l.engine = version
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case section == "function":
			l.function(line)
		case section == "cast":
			l.names["cast "+line] = true
		default:
			for _, name := range strings.Fields(line) {
				l.names[section+" "+name] = true
			}
		}
	}
	return l
}

func (l *leakList) function(line string) {
	head, result, ok := strings.Cut(line, " -> ")
	words := strings.Fields(head)
	if !ok || len(words) < 2 {
		panic(fmt.Sprintf("sqlguard: no signature: %s", line))
	}
	s := signature{name: words[0], arguments: words[1:], result: result}
	l.functions[s.name] = append(l.functions[s.name], s)
}
