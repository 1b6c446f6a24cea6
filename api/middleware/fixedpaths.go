package middleware

import (
	"net/http"
	"slices"
	"strings"

	"github.com/lakewarden/lakewarden/api/problem"
)

// FixedPaths answers 405 if a fixed path of one route would otherwise match a
// parameter of another route with the request's method. For example, GET
// …/policies/simulate does not ask for a policy with the id simulate. [FixedPaths.Set]
// must be called before requests are served.
type FixedPaths struct{ shadowed []fixedPath }

type fixedPath struct{ segments, methods []string }

// Set registers the methods of every route by its path template.
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

// Handler refuses requests for a fixed path with a method that its route does not accept.
func (f *FixedPaths) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.RawPath // as the router does
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

// covers reports whether template matches path, which may be a template itself.
func covers(template, path []string) bool {
	return slices.EqualFunc(template, path, func(t, p string) bool { return t == p || strings.HasPrefix(t, "{") && p != "" })
}
