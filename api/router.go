package api

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"path"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lakewarden/lakewarden/api/browser"
	"github.com/lakewarden/lakewarden/api/docs"
	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/oauth2"
	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/analysis"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/domain"
	"github.com/lakewarden/lakewarden/api/ops/identity"
	"github.com/lakewarden/lakewarden/api/ops/identity/account"
	"github.com/lakewarden/lakewarden/api/ops/identity/binding"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/api/ops/infer"
	"github.com/lakewarden/lakewarden/api/ops/maintain"
	"github.com/lakewarden/lakewarden/api/ops/operation"
	"github.com/lakewarden/lakewarden/api/ops/program"
	"github.com/lakewarden/lakewarden/api/ops/query"
	"github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/api/ops/table"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/api/pages"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/api/spill"
	v1 "github.com/lakewarden/lakewarden/api/v1"
	analysisroutes "github.com/lakewarden/lakewarden/api/v1/analysis"
	"github.com/lakewarden/lakewarden/api/v1/domains"
	identityroutes "github.com/lakewarden/lakewarden/api/v1/identity"
	"github.com/lakewarden/lakewarden/api/v1/organisations"
	"github.com/lakewarden/lakewarden/api/v1/policies"
	"github.com/lakewarden/lakewarden/api/v1/queries"
	"github.com/lakewarden/lakewarden/api/v1/storages"
	"github.com/lakewarden/lakewarden/api/v1/tables"
	"github.com/lakewarden/lakewarden/auth"
)

// Deps holds the dependencies of the routes.
type Deps struct {
	Keys          admin.APIKeys
	Organisations admin.Organisations
	Members       admin.Members
	Lifecycles    account.Organisations
	Users         identity.Users
	Self          account.Self
	Invitations   identity.Invitations
	Workspaces    admin.Workspaces
	Audit         admin.AuditLog
	Storage       storage.Configs
	Sharing       storage.Sharing
	Moves         *storage.Moves
	Tables        access.Tables
	TableFiles    table.Files
	Writes        write.Service
	Inference     infer.Service
	Maintenance   maintain.Service
	TableRules    table.Rules
	Domains       domain.Service
	Policies      admin.Policies
	Simulation    admin.Simulation
	Queries       *query.Service
	Operations    operation.Service
	Stored        query.Stored
	Limits        v1.Limits
	ProviderLinks identity.ProviderLinks
	Analyses      *analysis.Service
	// PublicURL is the address under which clients reach the server.
	PublicURL   string
	SSOSettings identity.SSOSettings
	Identities  binding.Identities
	SSO         identity.SSO
	SSOLogout   identity.SSOLogout
	// Clients, ServiceAccounts and OAuth let programs in.
	Clients         program.Clients
	ServiceAccounts program.ServiceAccounts
	Sessions        identity.SessionLists
	OAuth           oauth2.Server
	Recovery        identity.Recovery
	Passwords       identity.Passwords
	Pages           *pages.Pages
	// Spill buffers on disk the parts of responses that clients have not read yet.
	Spill *spill.Store

	Authenticator auth.Authenticator
	Auditor       *caller.Auditor
	Health        *Health
	Logger        *slog.Logger
	// Metrics is the registry that is served at /metrics; the routes register their
	// metrics in it.
	Metrics *prometheus.Registry
	// MetricsElsewhere omits /metrics, which another listener serves: see
	// [MetricsHandler].
	MetricsElsewhere bool
	// Rate limits each caller, and OrganisationRate all callers of one organisation.
	Rate, OrganisationRate middleware.Rate
	// TrustedProxies are the proxies that may name the client for which they forward.
	TrustedProxies middleware.TrustedProxies
	Version        string
}

// NewRouter returns the handler of all routes and the description of those below /v1.
func NewRouter(deps Deps) (http.Handler, *huma.OpenAPI) {
	// The framework exposes these only as package variables.
	huma.NewErrorWithContext = problem.Validation
	huma.ValidateStrictCasing = true

	r := chi.NewRouter()
	fixed := &middleware.FixedPaths{}
	r.Use(
		middleware.RequestID,
		deps.TrustedProxies.Handler,
		deps.TrustedProxies.MissingProxies(deps.Logger),
		middleware.AccessLog(deps.Logger),
		middleware.NewMetrics(deps.Metrics).Handler,
		middleware.EmptyBodies,
		middleware.Recover(deps.Logger),
		middleware.Headers(deps.OAuth.Issuer),
		middleware.Pace{Streams: tables.IsStream}.Handler,
		middleware.Sizes{Streams: tables.IsStream}.Handler,
		middleware.BodyErrors,
		fixed.Handler,
	)
	r.NotFound(middleware.NotFound)
	r.MethodNotAllowed(middleware.MethodNotAllowed(r))

	limits := middleware.RateLimits{
		Caller: middleware.NewLimiter(deps.Rate, nil), Organisation: middleware.NewLimiter(deps.OrganisationRate, nil),
	}
	failures := middleware.NewFailures(middleware.DefaultFailureRate, nil)
	identify := func(r chi.Router) chi.Router {
		return r.With(
			middleware.ResourceMetadata(deps.OAuth.Issuer+oauth2.ResourcePath),
			middleware.Authenticate(deps.Authenticator, failures, auditRefusal(deps.Auditor)),
			limits.Handler,
		)
	}
	spec := register(v1.Doors{
		Adapter: humachi.NewAdapter(headRouter{identify(r)}),
		Open:    humachi.NewAdapter(headRouter{r.With(limits.Handler)}),
	}, deps)
	fixed.Set(methodsOf(spec))
	deps.OAuth.Routes(r.With(limits.Handler), identify(r.With(oauth2.Errors)))
	deps.Pages.Routes(r.With(limits.Handler))
	open(headRouter{r}, deps, spec)
	return r, spec
}

// register adds every route below /v1.
func register(adapter huma.Adapter, deps Deps) *huma.OpenAPI {
	config := huma.DefaultConfig("Lakewarden", deps.Version)
	config.Info.Description = "Governance in front of Delta Lake tables: every rule holds on every path. " +
		"In request bodies a member that is null is the same as one that is left out, unless its description says otherwise."
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks, config.Transformers = nil, nil // no $schema members
	config.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	config.DefaultFormat = "application/json"
	config.RejectUnknownQueryParameters = true
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"BearerAuth": {Type: "http", Scheme: "bearer", Description: "An API key (lw_…) or a JWT of a configured issuer"},
	}
	api := huma.NewAPI(config, adapter)
	api.UseMiddleware(audit(deps.Auditor, throttle.NewRefusals(nil)))
	organisations.KeyRoutes(api, deps.Keys)
	organisations.Routes(api, deps.Organisations)
	organisations.LifecycleRoutes(api, deps.Lifecycles)
	organisations.MemberRoutes(api, deps.Members)
	organisations.UserRoutes(api, deps.Users)
	organisations.SelfRoutes(api, deps.Self)
	organisations.WorkspaceRoutes(api, deps.Workspaces)
	organisations.AuditRoutes(api, deps.Audit)
	identityroutes.InvitationRoutes(api, deps.Invitations)
	identityroutes.ClientRoutes(api, deps.Clients)
	identityroutes.SessionRoutes(api, deps.Sessions)
	identityroutes.ServiceAccountRoutes(api, deps.ServiceAccounts)
	storages.Routes(api, deps.Storage, deps.Operations)
	storages.CredentialRoutes(api, deps.Storage)
	storages.SharingRoutes(api, deps.Sharing)
	storages.MoveRoutes(api, deps.Moves, deps.Operations)
	tables.Routes(api, deps.Tables)
	tables.FileRoutes(api, deps.TableFiles)
	tables.RowRoutes(api, deps.Writes)
	tables.InferRoutes(api, deps.Inference)
	tables.MaintenanceRoutes(api, deps.Maintenance)
	tables.ConstraintRoutes(api, deps.TableRules)
	tables.KeyRoutes(api, deps.TableRules)
	tables.AlterRoutes(api, deps.TableRules)
	tables.ViolationRoutes(api, deps.TableRules)
	domains.ColumnRoutes(api, deps.Domains)
	domains.AllowedValueRoutes(api, deps.Domains)
	domains.ValueRoutes(api, deps.Domains)
	domains.SharedRoutes(api, deps.Domains)
	policies.Routes(api, deps.Policies, deps.Simulation)
	queries.Routes(api, deps.Queries, deps.Stored, deps.Spill)
	queries.OperationRoutes(api, deps.Operations, deps.Stored, deps.Spill)
	identityroutes.ProviderAppRoutes(api, deps.ProviderLinks.Apps)
	analysisroutes.Routes(api, deps.Analyses)
	analysisroutes.ProviderRoutes(api, deps.Analyses.Words.Providers)
	analysisroutes.ModelRoutes(api, deps.Analyses.Words.Providers.ListModels)
	door := identityroutes.Door{Screens: deps.Pages, Cookies: browser.NewCookies(deps.PublicURL), Remote: middleware.Remote}
	identityroutes.PasswordRoutes(api, deps.Recovery, deps.Passwords, door)
	identityroutes.ProviderLinkRoutes(api, deps.ProviderLinks, door)
	identityroutes.SSOSettingRoutes(api, deps.SSOSettings)
	identityroutes.IdentityRoutes(api, deps.Identities)
	identityroutes.SSORoutes(api, deps.SSO, deps.SSOLogout, door)
	v1.LimitRoutes(api, deps.Limits)
	v1.AllowNulls(api.OpenAPI())
	return api.OpenAPI()
}

// methodsOf returns the methods of each path.
func methodsOf(spec *huma.OpenAPI) map[string][]string {
	methods := map[string][]string{}
	for path, item := range spec.Paths {
		for method, op := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch,
			http.MethodDelete: item.Delete,
		} {
			if op != nil {
				methods[path] = append(methods[path], method)
			}
		}
	}
	return methods
}

// schemaName names the schema of error bodies Error. Types of the results of analyses have
// the name of their package before their own, because each package names its types for
// itself. Other names are unchanged.
func schemaName(t reflect.Type, hint string) string {
	if t == problem.BodyType {
		return "Error"
	}
	name := huma.DefaultSchemaNamer(t, hint)
	if folder, pkg := path.Split(t.PkgPath()); strings.HasSuffix(folder, "/engine/analysis/") {
		return strings.ToUpper(pkg[:1]) + pkg[1:] + name
	}
	return name
}

// open adds the routes that need no credential.
func open(r chi.Router, deps Deps, spec *huma.OpenAPI) {
	text, err := json.Marshal(spec)
	if err != nil {
		panic(err) // the description is made of constants
	}
	r.Get("/v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(text)
	})
	docs.Routes(r)
	r.Get("/healthz", deps.Health.live)
	r.Get("/readyz", deps.Health.ready)
	if !deps.MetricsElsewhere {
		r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(deps.Metrics, promhttp.HandlerOpts{}))
	}
}

// MetricsHandler serves /metrics and nothing else.
func MetricsHandler(metrics *prometheus.Registry) http.Handler {
	r := headRouter{chi.NewRouter()}
	r.Use(middleware.Headers("")) // operators reach it, by an address of their own
	r.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return r
}
