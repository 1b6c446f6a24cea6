package middleware

import (
	"net/http"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/problem"
)

// FixedPaths answers 405 where a path is that of one route and, with another
// method, would be taken for a parameter of a second one: GET …/policies/simulate
// does not ask for a policy of that id. [FixedPaths.Set] comes before requests.
type FixedPaths struct{ shadowed []fixedPath }

type fixedPath struct{ segments, methods []string }

// Set takes the methods of every route by its template.
func (f *FixedPaths) Set(routes map[string][]string) {
	for path, methods := range routes {
		segments := strings.Split(path, "/")
		for other := range routes {
			if other != path && covers(strings.Split(other, "/"), segments) {
				slices.Sort(methods)
				f.shadowed = append(f.shadowed, fixedPath{segments, methods})
				break
			}
		}
	}
}

// Handler refuses other methods.
func (f *FixedPaths) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.RawPath // the router prefers it too
		if path == "" {
			path = r.URL.Path
		}
		for _, fixed := range f.shadowed {
			if !slices.Contains(fixed.methods, r.Method) && covers(fixed.segments, strings.Split(path, "/")) {
				w.Header().Set("Allow", strings.Join(fixed.methods, ", "))
				problem.Write(w, r, &problem.Refusal{Code: "method_not_allowed"})
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// covers reports a path or template that the template matches.
func covers(template, path []string) bool {
	return slices.EqualFunc(template, path, func(t, p string) bool { return t == p || strings.HasPrefix(t, "{") && p != "" })
}
