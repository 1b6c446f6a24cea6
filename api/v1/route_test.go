package v1_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/problem"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	"github.com/lakewarden/lakewarden/auth"
)

// TestRoutesByCredential calls a route of each kind without a credential, as a person in
// no organisation and as a member.
func TestRoutesByCredential(t *testing.T) {
	original := huma.NewErrorWithContext
	huma.NewErrorWithContext = problem.Validation
	t.Cleanup(func() { huma.NewErrorWithContext = original })
	identify := func(p *auth.Principal) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if p == nil {
					problem.Write(w, r, problem.ErrNoCredential)
					return
				}
				next.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), *p)))
			})
		}
	}
	member := auth.Principal{OrgID: uuid.New(), UserID: uuid.New(), Role: auth.RoleViewer, Method: auth.MethodJWT}
	for _, who := range []struct {
		name      string
		principal *auth.Principal
		statuses  map[string]int
		refusal   string
	}{
		{"nobody", nil, map[string]int{"/open": 200, "/orgless": 401, "/usual": 401}, "unauthenticated"},
		{"a person", &auth.Principal{UserID: uuid.New(), Method: auth.MethodJWT}, map[string]int{"/open": 200, "/orgless": 200, "/usual": 403},
			"organisation_required"},
		{"a member", &member, map[string]int{"/open": 200, "/orgless": 200, "/usual": 200}, ""},
	} {
		router := chi.NewMux()
		api := huma.NewAPI(huma.DefaultConfig("test", "1"), v1.Doors{
			Adapter: humachi.NewAdapter(router.With(identify(who.principal))), Open: humachi.NewAdapter(router.With()),
		})
		for _, route := range []v1.Route{{Path: "/open", Open: true}, {Path: "/orgless", Orgless: true}, {Path: "/usual"}} {
			route.Method, route.ID = http.MethodGet, route.Path[1:]
			v1.Add(api, route, func(ctx context.Context, _ *v1.NoInput) (map[string]bool, error) {
				_, err := auth.PrincipalFrom(ctx)
				return map[string]bool{"known": err == nil}, nil
			})
		}
		for path, status := range who.statuses {
			w := httptest.NewRecorder()
			router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			require.Equal(t, status, w.Code, "%s %s: %s", who.name, path, w.Body)
			var body struct {
				Code  string
				Known bool
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &body))
			if status != http.StatusOK {
				require.Equal(t, who.refusal, body.Code)
				continue
			}
			require.Equal(t, path != "/open", body.Known, "an open route has no principal")
		}
		require.Empty(t, api.OpenAPI().Paths["/open"].Get.Security)
		require.NotEmpty(t, api.OpenAPI().Paths["/orgless"].Get.Security)
	}
}
