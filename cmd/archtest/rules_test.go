package archtest_test

// allowed lists the packages of this module that the non-test files of a package may
// import. A trailing "/..." means the package and everything below it. A package may
// also import its parent folder's package, unless the parent imports it.
//
// All other imports are forbidden. Tests are exempt, except that no package imports cmd
// or bench.
var allowed = map[string][]string{
	"migrations": {},
	"auth":       {}, "auth/epochcache": {}, "auth/outbound": {},
	"auth/apikey": {"auth", "auth/epochcache"}, "auth/jwt": {"auth", "auth/epochcache", "auth/outbound"},
	"auth/oauth": {"auth", "auth/jwt", "auth/session"}, "auth/sso": {"auth", "auth/jwt", "auth/outbound"},
	"auth/clientdocument": {"auth/outbound"}, "auth/provider": {"auth", "auth/outbound"}, "auth/mail": {"auth"},
	"auth/provider/providertest": {},
	"auth/session":               {}, "auth/password": {},
	// catalog/sqlstore/sqldb: sign-ins are stored in the database of the catalog, and their
	// end raises its epoch.
	"auth/sqlstore": {"auth", "auth/session", "catalog", "catalog/sqlstore/lifetimes", "catalog/sqlstore/sqldb"},

	"catalog":                       {},
	"catalog/authz":                 {"catalog", "auth"},
	"catalog/secret":                {"catalog"},
	"catalog/secret/awskms":         {},
	"catalog/catalogtest/pgtest":    {"engine/oracletest"},
	"catalog/secret/awskms/kmstest": {"engine/oracletest"},
	// auth/apikey, auth/jwt, auth/oauth: their stores are implemented over the catalog.
	"catalog/principal": {"catalog", "catalog/authz", "auth", "auth/apikey", "auth/jwt", "auth/oauth"},
	"catalog/sqlstore":  {"catalog", "catalog/sqlstore/..."},
	// Each of these imports only packages that are listed before it.
	"catalog/sqlstore/sqldb":    {"catalog", "migrations"},
	"catalog/sqlstore/domains":  {"catalog", "catalog/sqlstore/sqldb"},
	"catalog/sqlstore/identity": {"catalog", "catalog/sqlstore/lifetimes", "catalog/sqlstore/sqldb"},
	// Which credentials end with which API keys, for the stores of all of them.
	"catalog/sqlstore/lifetimes":  {"catalog", "catalog/sqlstore/sqldb"},
	"catalog/sqlstore/people":     {"catalog", "catalog/sqlstore/lifetimes", "catalog/sqlstore/sqldb"},
	"catalog/sqlstore/moves":      {"catalog", "catalog/sqlstore/sqldb"},
	"catalog/sqlstore/analysis":   {"catalog", "catalog/sqlstore/sqldb"},
	"catalog/sqlstore/operations": {"catalog", "catalog/sqlstore/sqldb"},
	"catalog/catalogtest":         {"catalog"},

	"engine/sqltype":          {},
	"engine":                  {"engine/sqltype"},
	"engine/deltasql":         {"engine/sqltype", "engine/delta"},
	"engine/policy":           {"engine", "engine/sqltype"},
	"engine/policy/sqlfilter": {"engine", "engine/sqltype", "engine/policy"},
	"engine/sqltree":          {},
	"engine/sqlguard":         {"engine", "engine/sqltype", "engine/sqltree", "engine/sqlguard/..."},
	// Each of these imports only packages that are listed before it.
	"engine/sqlguard/sqltext":   {},
	"engine/sqlguard/refusal":   {"engine/sqltree"},
	"engine/sqlguard/grammar":   {"engine/sqltree", "engine/sqlguard/refusal"},
	"engine/sqlguard/functions": {"engine/sqltree", "engine/sqlguard/sqltext"},
	"engine/sqlguard/constant":  {"engine", "engine/sqltype", "engine/sqltree"},
	"engine/sqlguard/limits": {"engine", "engine/sqltype", "engine/sqltree", "engine/sqlguard/sqltext", "engine/sqlguard/refusal",
		"engine/sqlguard/functions"},
	"engine/sqlguard/arguments": {"engine/sqltree", "engine/sqlguard/sqltext", "engine/sqlguard/refusal", "engine/sqlguard/functions",
		"engine/sqlguard/limits"},
	"engine/sqlguard/printer":   {"engine", "engine/sqltree", "engine/sqlguard/sqltext", "engine/sqlguard/refusal"},
	"engine/sqlguard/pushdown":  {"engine", "engine/sqltype", "engine/sqltree", "engine/sqlguard/constant"},
	"engine/sqlguard/faults":    {"engine", "engine/sqltype", "engine/sqltree", "engine/sqlguard/refusal"},
	"engine/sqlguard/leakproof": {"engine", "engine/sqltype", "engine/sqltree", "engine/sqlguard/constant"},
	"engine/sqlguard/explain": {"engine", "engine/sqltree", "engine/sqlguard/sqltext", "engine/sqlguard/functions",
		"engine/sqlguard/printer", "engine/sqlguard/refusal"},
	// engine/delta: the schema and the properties of a table contain rules.
	"engine/constraint": {"engine", "engine/deltasql", "engine/sqltype", "engine/constraint/sparktoken", "engine/sqltree",
		"engine/delta"},
	"engine/constraint/sparktoken": {},
	"engine/constraint/stated":     {"engine/delta"},
	"engine/arrowcheck":            {},
	// engine/constraint: a domain is a rule of its kind.
	"engine/domain": {"engine", "engine/deltasql", "engine/sqltype", "engine/delta", "engine/constraint"},
	"engine/ingest": {"engine", "engine/sqltype", "engine/ingest/..."}, "engine/llm": {}, "engine/llm/llmtest": {"engine/llm"},
	"engine/ingest/staging":       {"engine", "engine/sqltype"},
	"engine/ingest/contentcoding": {"engine/ingest/staging"},
	"engine/ingest/jsonbody":      {"engine/ingest/staging"},
	"engine/ingest/csvbody":       {"engine/sqltype", "engine/ingest/jsonbody", "engine/ingest/staging"},
	"engine/ingest/csvinfer": {"engine", "engine/sqltype", "engine/ingest/contentcoding", "engine/ingest/csvbody",
		"engine/ingest/staging"},
	"engine/ingest/arrowbody":   {"engine/arrowcheck", "engine/ingest/staging"},
	"engine/ingest/parquetbody": {"engine", "engine/sqltype", "engine/ingest/staging"},
	"engine/analysis":           {"engine", "engine/sqltype"},
	// Each analysis reads a table through the contract only.
	"engine/analysis/anomaly": {"engine", "engine/sqltype", "engine/analysis", "engine/analysis/profile",
		"engine/analysis/relation"},
	"engine/analysis/changes":  {"engine", "engine/sqltype", "engine/analysis"},
	"engine/analysis/mapping":  {"engine", "engine/sqltype", "engine/analysis", "engine/analysis/semantic", "engine/analysis/similarity"},
	"engine/analysis/profile":  {"engine", "engine/sqltype", "engine/analysis"},
	"engine/analysis/records":  {"engine", "engine/sqltype", "engine/analysis", "engine/analysis/similarity"},
	"engine/analysis/relation": {"engine", "engine/sqltype", "engine/analysis"},
	"engine/analysis/rules":    {"engine", "engine/sqltype", "engine/analysis", "engine/analysis/profile", "engine/analysis/relation"},
	"engine/analysis/semantic": {"engine", "engine/sqltype", "engine/analysis"},
	"engine/analysis/values":   {"engine", "engine/sqltype", "engine/analysis", "engine/analysis/cluster"},
	// Texts that are alike, and sets of them.
	"engine/analysis/cluster":      {"engine/analysis/similarity"},
	"engine/analysis/similarity":   {},
	"engine/analysis/wording":      {"engine/analysis", "engine/llm"},
	"engine/analysis/analysistest": {"engine", "engine/analysis", "engine/duckdb", "engine/sqlguard"},
	"engine/pruning":               {"engine", "engine/deltasql", "engine/sqltype", "engine/delta"},
	"engine/datafile":              {"engine", "engine/sqltype", "engine/delta", "engine/objstore"},
	"engine/dml": {"engine", "engine/sqltype", "engine/datafile", "engine/delta", "engine/delta/action",
		"engine/delta/deletion", "engine/pruning", "engine/objstore", "engine/constraint"},
	"engine/workdir":          {},
	"engine/duckdb":           {"engine", "engine/workdir", "engine/duckdb/..."},
	"engine/duckdb/heap":      {},
	"engine/duckdb/native":    {"engine", "engine/sqltype"},
	"engine/duckdb/extension": {"engine", "engine/duckdb/native"},
	"engine/duckdb/sandbox":   {"engine", "engine/workdir", "engine/duckdb/extension", "engine/duckdb/native"},
	"engine/duckdb/variant":   {"engine/sqltype", "engine/duckdb/native"},
	// engine/delta/deletion: deletion vectors of a list of files.
	"engine/duckdb/scan": {"engine", "engine/sqltype", "engine/delta/deletion", "engine/duckdb/native", "engine/duckdb/sandbox",
		"engine/duckdb/variant"},
	"engine/duckdb/write": {"engine", "engine/sqltype", "engine/duckdb/native", "engine/duckdb/scan"},

	"engine/worker":     {"engine", "engine/sqltype", "engine/arrowcheck", "engine/workdir"},
	"engine/enginetest": {"engine", "engine/sqltype", "engine/delta/deletion", "engine/oracletest"},
	"engine/oracletest": {},

	"engine/objstore":      {},
	"engine/objstore/file": {"engine/objstore"}, "engine/objstore/mem": {"engine/objstore"},
	"engine/objstore/remote":       {"engine/objstore"},
	"engine/objstore/s3":           {"engine/objstore", "engine/objstore/remote"},
	"engine/objstore/gcs":          {"engine/objstore", "engine/objstore/remote"},
	"engine/objstore/azure":        {"engine/objstore", "engine/objstore/remote"},
	"engine/objstore/objstoretest": {"engine/objstore", "engine/objstore/mem"},
	"engine/objstore/s3test":       {"engine/oracletest", "engine/objstore/networktest"},
	"engine/objstore/networktest":  {},
	"engine/objstore/azuretest":    {"engine/oracletest"},
	"engine/objstore/gcstest":      {"engine/oracletest"},
	"engine/objstore/mirrortest": {"engine/objstore", "engine/objstore/azure", "engine/objstore/azuretest", "engine/objstore/gcs",
		"engine/objstore/gcstest"},
	"engine/gateway": {"engine/objstore"},

	"engine/delta": {"engine/sqltype", "engine/delta/action", "engine/delta/logpath", "engine/delta/checkpoint", "engine/delta/deletion",
		"engine/objstore"},
	"engine/delta/action":     {},
	"engine/delta/logpath":    {},
	"engine/delta/checkpoint": {"engine/sqltype", "engine/delta/action", "engine/delta/logpath", "engine/objstore"},
	"engine/delta/deletion":   {"engine/delta/action", "engine/delta/logpath"},
	"engine/maintenance": {"engine", "engine/sqltype", "engine/deltasql", "engine/datafile", "engine/delta/...", "engine/objstore",
		"engine/pruning"},
	"engine/storage":      {"engine", "engine/objstore", "engine/delta/..."},
	"engine/storage/kind": {"engine/objstore", "engine/objstore/remote", "engine/storage"},
	"engine/storage/move": {"engine/objstore", "engine/delta/logpath"},
	// Each kind of storage over the provider of its store.
	"engine/storage/kind/s3":  {"engine/objstore", "engine/objstore/s3", "engine/storage", "engine/storage/kind"},
	"engine/storage/kind/gcs": {"engine/objstore", "engine/objstore/gcs", "engine/objstore/remote", "engine/storage", "engine/storage/kind"},
	"engine/storage/kind/azure": {"engine/objstore", "engine/objstore/azure", "engine/objstore/remote",
		"engine/storage", "engine/storage/kind"},
	// Over the kinds of the providers' stores.
	"engine/storage/kind/delegated": {"engine/objstore/remote", "engine/storage/kind", "engine/storage/kind/gcs", "engine/storage/kind/azure",
		"engine/storage/kind/delegated"},

	"sessions": {"engine", "auth"},

	"api":             {"api/...", "auth", "catalog", "engine"},
	"api/v1":          {"api/ops/...", "api/problem", "api/result", "auth", "catalog"},
	"api/v1/queries":  {"api/v1", "api/ops/...", "api/problem", "api/result", "api/spill", "auth", "catalog", "engine"},
	"api/v1/tables":   {"api/v1", "api/v1/policies", "api/ops/...", "api/problem", "auth", "catalog"},
	"api/v1/domains":  {"api/v1", "api/ops/...", "api/problem", "auth", "catalog"},
	"api/v1/policies": {"api/v1", "api/ops/...", "api/problem", "auth", "catalog"},
	// engine/analysis: the changes that proposals stand for become requests.
	"api/v1/analysis": {"api/v1", "api/ops/...", "api/problem", "auth", "catalog", "engine/analysis"},
	"api/oauth2":      {"api/middleware", "api/ops/...", "api/problem", "auth", "auth/oauth", "catalog"},
	// api/v1/organisations: the form of API keys.
	"api/v1/identity":      {"api/v1", "api/v1/organisations", "api/browser", "api/ops/...", "api/problem", "auth", "auth/session", "catalog"},
	"api/v1/organisations": {"api/v1", "api/ops/...", "api/problem", "auth", "catalog"},
	"api/v1/storages":      {"api/v1", "api/ops/...", "api/problem", "auth", "catalog"},
	"api/middleware":       {"api/problem", "auth"},
	"api/browser":          {},
	"api/pages":            {"api/browser", "api/middleware", "api/ops/...", "api/problem", "auth", "auth/oauth", "auth/session", "catalog"},
	"api/result":           {"engine", "engine/sqltype"},
	"api/spill":            {},
	"api/problem": {"auth", "auth/apikey", "auth/password", "auth/provider", "auth/sso", "catalog", "catalog/secret",
		"engine/...", "sessions"},
	// Use cases, each below those that follow. Only access, maintain, admin and storage import
	// lake: access opens tables for callers, the others work on tables for the server. catalog/authz:
	// the use cases choose the actor of calls to the store.
	"api/ops":            {},
	"api/ops/fault":      {"catalog", "engine/delta"},
	"api/ops/feature":    {"catalog", "catalog/authz"},
	"api/ops/memo":       {"catalog"},
	"api/ops/caller":     {"auth", "catalog", "catalog/authz"},
	"api/ops/deletion":   {"api/ops/caller", "catalog", "catalog/authz"},
	"api/ops/revocation": {"api/ops/fault", "api/ops/memo", "api/ops/caller", "auth", "catalog", "catalog/authz"},
	"api/ops/lake":       {"api/ops/fault", "catalog", "catalog/authz", "engine/..."},
	"api/ops/access": {"api/ops/fault", "api/ops/deletion", "api/ops/memo", "api/ops/caller", "api/ops/revocation", "api/ops/lake",
		"auth", "catalog", "catalog/authz", "engine/...", "sessions"},
	"api/ops/operation": {"api/ops/fault", "api/ops/caller", "api/ops/revocation", "auth", "catalog", "catalog/authz", "sessions"},
	"api/ops/query": {"api/ops/fault", "api/ops/memo", "api/ops/caller", "api/ops/revocation", "api/ops/access", "api/ops/operation",
		"auth", "catalog", "catalog/authz", "engine/...", "sessions"},
	"api/ops/write": {"api/ops/fault", "api/ops/memo", "api/ops/caller", "api/ops/revocation", "api/ops/access", "api/ops/query",
		"auth", "catalog", "catalog/authz", "engine/...", "sessions"},
	"api/ops/table": {"api/ops/fault", "api/ops/deletion", "api/ops/caller", "api/ops/revocation", "api/ops/access", "api/ops/operation",
		"api/ops/query",
		"api/ops/write",
		"auth", "catalog", "catalog/authz", "engine/...", "sessions"},
	"api/ops/domain": {"api/ops/fault", "api/ops/caller", "api/ops/access", "api/ops/operation", "api/ops/query", "api/ops/write",
		"auth", "catalog", "catalog/authz", "engine/..."},
	"api/ops/infer": {"api/ops/fault", "api/ops/caller", "api/ops/revocation", "api/ops/access", "auth", "catalog", "engine/...",
		"sessions"},
	"api/ops/maintain": {"api/ops/fault", "api/ops/deletion", "api/ops/caller", "api/ops/lake", "api/ops/access", "api/ops/operation",
		"api/ops/query",
		"api/ops/write",
		"auth", "catalog", "catalog/authz", "engine/...", "sessions"},
	"api/ops/admin": {"api/ops/fault", "api/ops/caller", "api/ops/lake", "api/ops/access", "api/ops/query",
		"auth", "auth/apikey", "catalog", "catalog/authz", "engine/...", "sessions"},

	"api/ops/identity/account":  {"api/ops/fault", "api/ops/caller", "auth", "catalog"},
	"api/ops/identity/throttle": {"api/ops/fault", "auth/password", "catalog"},
	"api/ops/identity/binding":  {"api/ops/fault", "api/ops/caller", "auth", "auth/session", "catalog", "catalog/authz"},
	"api/ops/identity": {"api/ops/identity/throttle", "api/ops/identity/binding",
		"api/ops/fault", "api/ops/feature", "api/ops/caller", "api/ops/admin", "auth", "auth/apikey", "auth/session",
		"auth/password", "auth/sso", "auth/provider", "auth/mail", "catalog", "catalog/authz", "catalog/secret"},
	"api/ops/program": {"api/ops/fault", "api/ops/caller", "api/ops/admin", "auth", "auth/apikey", "auth/clientdocument", "auth/session",
		"catalog", "catalog/authz"},
	"api/ops/storage": {"api/ops/fault", "api/ops/deletion", "api/ops/feature", "api/ops/caller", "api/ops/lake", "api/ops/access",
		"api/ops/memo",
		"api/ops/operation", "api/ops/write",
		"auth", "catalog", "catalog/authz", "engine/..."},
	// Analyses read tables through api/ops/query only, so they do not import lake.
	// engine, engine/...: what an analysis reads is described for it, and errors of its
	// statements are about the condition of the caller.
	"api/ops/analysis": {"api/ops/fault", "api/ops/feature", "api/ops/caller", "api/ops/access", "api/ops/operation", "api/ops/query",
		"api/ops/table", "auth", "catalog", "catalog/authz", "catalog/secret", "engine", "engine/analysis/...", "engine/constraint",
		"engine/delta", "engine/llm", "engine/sqlguard/refusal", "sessions"},

	"api/ops/opstest": {"api/ops/...", "auth", "catalog/...", "engine/...", "sessions"},

	"bench": {},
}

// commands lists the packages of cmd and bench that packages of commands may import.
// Only the program and the harness of the end-to-end tests import the wiring.
var commands = map[string][]string{
	"cmd/bench":      {"bench"},
	"cmd/lakewarden": {"cmd/lakewarden/app"},
	"cmd/lakewarden/app": {"cmd/lakewarden/command", "cmd/lakewarden/config", "cmd/lakewarden/engines", "cmd/lakewarden/lifecycle",
		"cmd/lakewarden/login", "cmd/lakewarden/stores"},
	"cmd/lakewarden/engines":          {"cmd/lakewarden/config", "cmd/lakewarden/lifecycle"},
	"cmd/lakewarden/login":            {"cmd/lakewarden/config", "cmd/lakewarden/lifecycle", "cmd/lakewarden/stores"},
	"cmd/lakewarden/stores":           {"cmd/lakewarden/config", "cmd/lakewarden/lifecycle"},
	"cmd/lakewarden/lifecycle":        {},
	"cmd/lakewarden/command":          {"cmd/lakewarden/command/demodata", "cmd/lakewarden/config"},
	"cmd/lakewarden/command/demodata": {},
	"cmd/lakewarden/config":           {},
	"cmd/e2e/harness":                 {"cmd/lakewarden/app", "cmd/lakewarden/command", "cmd/lakewarden/config", "cmd/lakewarden/engines"},
}

// endToEnd lists the packages of cmd that the end-to-end tests may import.
var endToEnd = []string{"cmd/e2e/harness", "cmd/lakewarden/config"}

// except removes packages that a "/..." in allowed would include.
var except = map[string][]string{
	// Only cmd chooses the engine and the stores. All other packages use contracts.
	"api/problem": implementations, "api/ops/lake": implementations, "api/ops/access": implementations, "api/ops/query": implementations,
	"api/ops/write": implementations, "api/ops/table": implementations, "api/ops/domain": implementations,
	"api/ops/infer": implementations, "api/ops/maintain": implementations, "api/ops/admin": implementations,
	"api/ops/storage": implementations,
	// lake: the HTTP layer must not open tables.
	"api": {"api/ops/lake"}, "api/v1": {"api/ops/lake"}, "api/v1/queries": {"api/ops/lake"}, "api/v1/tables": {"api/ops/lake"},
	"api/v1/domains": {"api/ops/lake"}, "api/v1/policies": {"api/ops/lake"}, "api/v1/organisations": {"api/ops/lake"},
	"api/v1/storages": {"api/ops/lake"}, "api/v1/identity": {"api/ops/lake"}, "api/v1/analysis": {"api/ops/lake"},
}

// implementations lists the engines and stores.
var implementations = []string{"engine/duckdb/...", "engine/worker",
	"engine/objstore/file", "engine/objstore/mem", "engine/objstore/remote", "engine/objstore/s3", "engine/objstore/gcs",
	"engine/objstore/azure", "engine/storage/kind/s3", "engine/storage/kind/gcs", "engine/storage/kind/azure",
	"engine/storage/kind/delegated"}

// owner is a third-party or standard package that only some packages may import.
type owner struct {
	imported string   // the package and everything below it
	by       []string // packages of this module, with "/..." for all below
	reason   string
	tests    bool     // the rule binds test files too
	oracleOf []string // packages whose tests may use it as an oracle
}

var owners = []owner{
	{imported: "github.com/duckdb/duckdb-go", by: []string{"engine/duckdb/..."}, tests: true,
		oracleOf: []string{"engine/sqlguard/...", "engine/policy/sqlfilter"},
		reason:   "cgo stays behind few packages, and so do the driver's settings and its lock-down"},
	{imported: "github.com/duckdb/duckdb-go-bindings", by: []string{"engine/duckdb/..."}, tests: true,
		reason: "cgo stays behind few packages"},
	{imported: "github.com/ory/fosite", by: []string{"auth/oauth"},
		reason: "the OAuth library moves; one package follows it"},
	{imported: "github.com/coreos/go-oidc", by: []string{"auth/..."},
		reason: "identity providers are talked to in auth only"},
	{imported: "github.com/cedar-policy/cedar-go", by: []string{"engine/policy/..."},
		reason: "the packages of policies decide what a policy text means"},
	{imported: "github.com/fxamacker/cbor", by: []string{"engine/worker"},
		reason: "the messages between parent and worker are of one package"},
	{imported: "github.com/jackc/pgx", by: []string{"catalog/sqlstore/sqldb", "auth/sqlstore", "migrations", "cmd/...", "*test"},
		reason: "database drivers are translated at their edge"},
	{imported: "modernc.org/sqlite", by: []string{"catalog/sqlstore/sqldb", "auth/sqlstore", "migrations", "cmd/...", "*test"},
		reason: "database drivers are translated at their edge"},
	{imported: "database/sql", by: []string{"catalog/sqlstore/sqldb", "auth/sqlstore", "migrations", "engine/duckdb", "cmd/...", "*test"},
		reason: "SQL against the catalog is written in the stores, SQL against tables in the engine"},
	{imported: "github.com/pressly/goose", by: []string{"migrations"},
		reason: "migrations run through one function"},
	{imported: "github.com/aws/aws-sdk-go-v2", by: []string{"engine/objstore/s3", "engine/gateway", "catalog/secret/awskms/..."},
		reason: "a store's SDK stays in its provider"},
	{imported: "github.com/Azure/azure-sdk-for-go", by: []string{"engine/objstore/azure", "engine/objstore/azuretest"},
		reason: "a store's SDK stays in its provider"},
	{imported: "cloud.google.com/go/storage", by: []string{"engine/objstore/gcs"},
		reason: "a store's SDK stays in its provider"},
	{imported: "github.com/anthropics/anthropic-sdk-go", by: []string{"engine/llm"}, reason: "model vendors sit behind one interface"},
	{imported: "github.com/openai/openai-go", by: []string{"engine/llm"}, reason: "model vendors sit behind one interface"},
	{imported: "google.golang.org/genai", by: []string{"engine/llm"}, reason: "model vendors sit behind one interface"},
	{imported: "github.com/tink-crypto/tink-go-awskms", by: []string{"catalog/secret/awskms"}, reason: "a KMS stays in its package"},
	{imported: "github.com/tink-crypto/tink-go", by: []string{"catalog/secret", "catalog/secret/awskms"},
		reason: "one package encrypts stored secrets"},
	{imported: "github.com/wneessen/go-mail", by: []string{"auth/mail"}, reason: "one package sends mail"},
	{imported: "github.com/knadh/koanf", by: []string{"cmd/..."}, reason: "configuration is read in cmd and passed in"},
	{imported: "flag", by: []string{"cmd/..."}, reason: "flags are read in cmd only"},
	{imported: "github.com/go-chi/chi", by: []string{"api", "api/v1/...", "api/middleware", "api/docs", "api/oauth2", "api/pages"},
		reason: "routing is the API's"},
	{imported: "github.com/go-chi/httprate", by: []string{"api", "api/middleware"}, reason: "limits are the API's"},
	{imported: "github.com/danielgtaylor/huma", by: []string{"api", "api/v1/...", "api/middleware", "api/problem"},
		reason: "operations do not know that they are called over HTTP"},
	{imported: "net/http", by: []string{"api", "api/v1/...", "api/browser", "api/docs", "api/oauth2", "api/pages", "api/middleware",
		"api/problem", "auth/...", "cmd/...", "bench", "engine/gateway", "engine/llm", "engine/llm/llmtest", "engine/objstore/remote",
		"engine/objstore/s3", "engine/objstore/gcs", "engine/objstore/azure", "engine/objstore/azuretest", "engine/objstore/gcstest",
		"engine/objstore/s3test",
		"engine/objstore/mirrortest", "engine/objstore/objstoretest", "catalog/secret/awskms/kmstest"},
		reason: "operations and domains do not know that they are called over HTTP"},
	{imported: "log", by: nil, tests: true, reason: "logs are structured: use log/slog"},
	{imported: "github.com/stretchr/testify/assert", by: nil, tests: true, reason: "a failed assertion ends its test: use require"},
	{imported: "github.com/stretchr/testify", by: []string{"*test"}, reason: "test code"},
	{imported: "pgregory.net/rapid", by: []string{"*test"}, reason: "test code"},
	{imported: "go.uber.org/goleak", by: []string{"*test"}, reason: "test code"},
	{imported: "testing", by: []string{"*test"}, reason: "test code"},
	{imported: "math/rand", by: nil, tests: true, reason: "use math/rand/v2; crypto/rand for secrets"},
}

// bannedNames lists package names without a subject.
var bannedNames = []string{"util", "utils", "common", "helper", "helpers", "models", "misc", "shared", "base", "types"}

// The size limits. Those of packages and files count lines of all kinds. They do not
// apply to tests, test packages and bench.
const (
	maxPackageLines = 3500
	maxPackageFiles = 35
	maxFileLines    = 400
	// maxTestLines bounds the files that are exempt from maxFileLines.
	maxTestLines = 600
	// maxLine bounds the lines of all Go files, in characters. Lines with a struct tag
	// may be longer.
	maxLine = 140
)

// largePackages lists the packages beyond the limits, each with a reason and its
// ceiling. A package within the limits must not be listed.
var largePackages = map[string]struct {
	lines, files int
	reason       string
}{
	"engine/delta": {9800, 64, "one idea: the snapshot, the transaction and the rules between them"},
	"catalog":      {5300, 48, "one idea: the records and the contract of one store, which share their validation"},
}

// largeFiles lists the files beyond maxFileLines with their ceilings.
var largeFiles = map[string]int{}

// longLineCeilings bounds the number of lines beyond maxLine below a folder.
var longLineCeilings = map[string]int{
	"api":     9,
	"catalog": 4,
	"cmd":     30,
	"engine":  43,
}

// topLevel lists the folders that may contain Go code. The root itself contains none.
var topLevel = []string{"cmd", "engine", "catalog", "api", "auth", "sessions", "bench", "migrations"}
