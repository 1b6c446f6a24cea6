package pushdown

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Parameters holds the parameters of a copy's SQL by name.
type Parameters map[string]any

// add adds a value under a new name, which it returns.
func (a Parameters) add(value string) string {
	name := "lw_value_" + strconv.Itoa(len(a))
	a[name] = value
	return name
}

// Use adds the secrets whose names occur in an expression.
func (a Parameters) Use(expr string, secrets map[string]string) {
	for name, value := range secrets {
		if strings.Contains(expr, "$"+name) {
			a[name] = value
		}
	}
}

// Text returns a text that differs for different sets of parameters.
func (a Parameters) Text() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a)) {
		out.WriteString("\x00" + name + "=" + a[name].(string))
	}
	return out.String()
}
