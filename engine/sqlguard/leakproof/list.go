package leakproof

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed leakproof.txt
var defaultText string

// Default is the list of the supported build of the engine. It is never written to.
var Default = MustRead(defaultText)

// List holds the operations that may see hidden rows, for one build of the engine.
type List struct {
	Engine string
	// names holds the forms, arithmetic operators, aggregates and casts as "section name".
	names map[string]bool
	// Functions maps a name to its signatures.
	Functions map[string][]Signature
}

// Signature is the signature of a listed function.
type Signature struct {
	Name      string
	Arguments []string
	result    string
}

func (l *List) has(section, name string) bool { return l.names[section+" "+name] }

// MustRead parses a list in the format of leakproof.txt. It panics if the text is invalid.
func MustRead(text string) *List {
	l := &List{names: map[string]bool{}, Functions: map[string][]Signature{}}
	section := ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch version, isEngine := strings.CutPrefix(line, "engine "); {
		case line == "" || strings.HasPrefix(line, "#"):
		case isEngine:
			l.Engine = version
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

func (l *List) function(line string) {
	head, result, ok := strings.Cut(line, " -> ")
	words := strings.Fields(head)
	if !ok || len(words) < 2 {
		panic(fmt.Sprintf("sqlguard: no signature: %s", line))
	}
	s := Signature{Name: words[0], Arguments: words[1:], result: result}
	l.Functions[s.Name] = append(l.Functions[s.Name], s)
}
