package functions

import (
	_ "embed"
	"fmt"
	"sort"
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqlguard/sqltext"
)

//go:embed functions.txt
var functionsText string

// Class is the permission of users to call a function.
type Class string

// The classes.
const (
	// Allow: callable as it is.
	Allow Class = "allow"
	// Volatile: callable; the result is not reproducible.
	Volatile Class = "volatile"
	// Cap: callable with bounded arguments; Rule names the bound.
	Cap Class = "cap"
	// Constant: replaced by a constant; Rule names it.
	Constant Class = "constant"
	// Deny: refused; Rule is the reason.
	Deny Class = "deny"
)

// Function is one classified function.
type Function struct {
	// Namespace is scalar (for everything inside expressions), table or pragma.
	Namespace string
	Name      string
	Class     Class
	// Rule is the reason of a refusal, or the name of a bound or constant.
	Rule string
	// Syntax marks a function that the parser makes and the engine does not list.
	Syntax bool
}

// registry is read-only after the package is initialised.
var registry = mustReadFunctions(functionsText)

var callable = callableNames()

// Callable returns the names that users may call in a namespace.
func Callable(namespace string) []string { return callable[namespace] }

func callableNames() map[string][]string {
	out := map[string][]string{}
	for _, f := range All() {
		if f.Class != Deny && sqltext.IsWord(f.Name[0]) {
			out[f.Namespace] = append(out[f.Namespace], f.Name)
		}
	}
	return out
}

// Lookup returns the classification of a function. Names are matched
// without regard to case.
func Lookup(namespace, name string) (Function, bool) {
	name = strings.ToLower(name)
	f, ok := registry[namespace+" "+name]
	if !ok && strings.HasPrefix(name, "icu_collate_") {
		f, ok = registry[namespace+" icu_collate_*"]
	}
	return f, ok
}

// All lists every classified function, by namespace and name.
func All() []Function {
	out := make([]Function, 0, len(registry))
	for _, f := range registry {
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		return a.Namespace+" "+a.Name < b.Namespace+" "+b.Name
	})
	return out
}

func mustReadFunctions(text string) map[string]Function {
	out := map[string]Function{}
	var section Function
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") || line == "#" {
			continue
		}
		if strings.HasPrefix(line, "[") {
			head, rule, _ := strings.Cut(strings.Trim(line, "[]"), ": ")
			ns, class, _ := strings.Cut(head, " ")
			section = Function{Namespace: ns, Class: Class(class), Rule: rule}
			if class == "syntax" {
				section.Class, section.Syntax = Allow, true
			}
			continue
		}
		for _, name := range strings.Fields(line) {
			f := section
			f.Name = strings.ToLower(name)
			key := f.Namespace + " " + f.Name
			if _, dup := out[key]; dup {
				panic(fmt.Sprintf("sqlguard: function %s is classified twice", key))
			}
			out[key] = f
		}
	}
	return out
}
