package pushdown

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Parameters are the parameters of a copy's SQL by their names.
type Parameters map[string]any

// add gives a value a name of its own.
func (a Parameters) add(value string) string {
	name := "lw_value_" + strconv.Itoa(len(a))
	a[name] = value
	return name
}

// Use adds the secrets that an expression names.
func (a Parameters) Use(expr string, secrets map[string]string) {
	for name, value := range secrets {
		if strings.Contains(expr, "$"+name) {
			a[name] = value
		}
	}
}

// Text tells sets of parameters apart.
func (a Parameters) Text() string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a)) {
		out.WriteString("\x00" + name + "=" + a[name].(string))
	}
	return out.String()
}
