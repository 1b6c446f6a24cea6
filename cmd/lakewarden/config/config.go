package config

import (
	"cmp"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

const envPrefix = "LAKEWARDEN_"

// MiB is the number of bytes in the unit of settings of sizes.
const MiB = int64(1) << 20

// Settings holds all settings of the server. The tag is the key in the YAML file. The
// environment variable is the key in upper case after LAKEWARDEN_.
type Settings struct {
	Listen string `koanf:"listen"`
	// MetricsAddr, if set, is the address of a separate listener for /metrics.
	MetricsAddr string `koanf:"metrics_addr"`
	// PublicURL is the address under which clients reach the server: the issuer of its
	// tokens, and the base of redirects and of links in e-mails. It has no path.
	PublicURL string `koanf:"public_url"`
	// TrustedProxies are the addresses and networks (CIDR) of trusted proxies.
	TrustedProxies []string `koanf:"trusted_proxies"`
	DataDir        string   `koanf:"data_dir"`
	DatabaseURL    string   `koanf:"database_url"`
	ExtensionDir   string   `koanf:"extension_dir"`
	LocalRoots     []string `koanf:"local_roots"`
	// SandboxRoot is the parent of the directories of the organisations' sandboxes.
	SandboxRoot string `koanf:"sandbox_root"`
	// SandboxQuota bounds the files, in MiB, of all tables that one person, or all service
	// accounts together, created in a sandbox.
	SandboxQuota int64  `koanf:"sandbox_quota_mib"`
	LogLevel     string `koanf:"log_level"`
	Memory       int64  `koanf:"memory_mib"`
	Lease        int64  `koanf:"statement_memory_mib"`
	Threads      int    `koanf:"threads"`
	TempBytes    int64  `koanf:"temp_mib"`
	// SpillBytes and SpillOrgBytes bound, in MiB, the disk space for the unread parts
	// of responses: of all organisations, and of one.
	SpillBytes    int64         `koanf:"spill_mib"`
	SpillOrgBytes int64         `koanf:"spill_org_mib"`
	MaxRunning    int           `koanf:"max_running"`
	MaxQueued     int           `koanf:"max_queued"`
	QueryTimeout  time.Duration `koanf:"query_timeout"`
	MaxTimeout    time.Duration `koanf:"max_query_timeout"`
	RatePerMinute int           `koanf:"rate_per_minute"`
	RateBurst     int           `koanf:"rate_burst"`
	// RateOrgPerMinute and RateOrgBurst limit the requests of all keys and people of one
	// organisation; 0 means ten times the limit of one caller.
	RateOrgPerMinute int           `koanf:"rate_org_per_minute"`
	RateOrgBurst     int           `koanf:"rate_org_burst"`
	DiscoveryEvery   time.Duration `koanf:"discovery_interval"`
	// VanishAfter is how long discoveries must miss a table before it counts as vanished.
	VanishAfter time.Duration `koanf:"vanish_after"`
	// UndoWindow is how long the attach of a storage configuration can be undone.
	UndoWindow   time.Duration `koanf:"undo_window"`
	DrainTimeout time.Duration `koanf:"drain_timeout"`
	DrainNotice  time.Duration `koanf:"drain_notice"`
	// Organisations says who creates organisations: anyone or operator.
	Organisations string `koanf:"organisations"`
	// ResultsURL is the location of the stored rows of operations, for all replicas.
	ResultsURL string `koanf:"results_url"`
	// The credential for an s3:// results_url.
	ResultsAccessKeyID     string        `koanf:"results_access_key_id"`
	ResultsSecretAccessKey string        `koanf:"results_secret_access_key"`
	ResultsRoleARN         string        `koanf:"results_role_arn"`
	ResultBytes            int64         `koanf:"result_mib"`
	ResultsOrgBytes        int64         `koanf:"results_org_mib"`
	ResultsKeep            time.Duration `koanf:"results_keep"`
	Issuers                []Issuer      `koanf:"issuers"`
	// Providers changes the presets of the OAuth providers of delegated storage, by name.
	Providers map[string]Provider `koanf:"providers"`
	// DNSServer, if set, is the host:port of the resolver for records of e-mail domains.
	DNSServer string `koanf:"dns_server"`
	// SMTPURL is the server for e-mails: smtp://user:password@host:587 (STARTTLS) or
	// smtps://…:465. If it is empty, e-mails are written to MailDir.
	SMTPURL  string `koanf:"smtp_url"`
	MailFrom string `koanf:"mail_from"`
	MailDir  string `koanf:"mail_dir"`
	// KeyFile decrypts the secrets in the catalog.
	KeyFile string `koanf:"key_file"`
	// KeyKMSURI is the key of a KMS that encrypts the key file: aws-kms://arn:…. If it is
	// empty, the file holds its keys in clear.
	KeyKMSURI string `koanf:"key_kms_uri"`
	// KeyKMSEndpoint replaces the address of the KMS.
	KeyKMSEndpoint        string `koanf:"key_kms_endpoint"`
	AllowPrivateEndpoints bool   `koanf:"allow_private_endpoints"`
	// OpenRegistration lets clients that nobody vouches for introduce themselves.
	OpenRegistration bool          `koanf:"open_registration"`
	StoreTimeout     time.Duration `koanf:"store_timeout"`
	// AzureAuthority is the URL of Azure's identity service; empty means that of the public
	// cloud.
	AzureAuthority string `koanf:"azure_authority"`
	// AmbientStorage are patterns of the buckets that the server's own identity may open: see
	// [kind.ParseAmbientPatterns].
	AmbientStorage []string `koanf:"ambient_storage"`
	// FileMode is the octal mode of new files of tables in local storage; empty means that of
	// the table's folder, without access for others.
	FileMode string `koanf:"file_mode"`
	// CacheMemory and CacheDisk bound the cached blocks of remote stores, in MiB.
	CacheMemory int64 `koanf:"cache_memory_mib"`
	CacheDisk   int64 `koanf:"cache_disk_mib"`
	// BodyRows bounds the rows of one write request.
	BodyRows int64 `koanf:"body_rows"`
	// Isolation is the isolation of the engine: process or none.
	Isolation string `koanf:"isolation"`
	// Analysis has keys like the other settings.
	Analysis AnalysisSettings `koanf:",squash"`
}

// Issuer is an issuer of JWTs that the server accepts.
type Issuer struct {
	URL           string   `koanf:"url"`
	JWKSURL       string   `koanf:"jwks_url"`
	JWKSFile      string   `koanf:"jwks_file"`
	Algorithms    []string `koanf:"algorithms"`
	Organisations []string `koanf:"organisations"`
	EmailSubjects bool     `koanf:"email_subjects"`
	Scopes        []string `koanf:"default_scopes"`
	// TypeJWT accepts tokens of type JWT in addition to those of type at+jwt.
	TypeJWT bool `koanf:"accept_typ_jwt"`
}

// Provider changes the preset of an OAuth provider. Empty fields keep those of the preset.
// If the issuer or an endpoint is set, the addresses of the preset do not apply.
type Provider struct {
	// Issuer is the issuer of an OpenID provider, whose discovery document has the
	// endpoints that are not set here.
	Issuer          string            `koanf:"issuer"`
	AuthURL         string            `koanf:"auth_url"`
	TokenURL        string            `koanf:"token_url"`
	RevokeURL       string            `koanf:"revoke_url"`
	AdminConsentURL string            `koanf:"admin_consent_url"`
	Permissions     []string          `koanf:"permissions"`
	Scopes          []string          `koanf:"scopes"`
	Parameters      map[string]string `koanf:"parameters"`
	// SecretInBody sends the client secret in the body of requests, not in their header.
	SecretInBody bool `koanf:"secret_in_body"`
	// StorageURL is the URL of the provider's store for the kind delegated, if it is not the
	// public one. {account} stands for the account.
	StorageURL string `koanf:"storage_url"`
}

func defaults() map[string]any {
	return map[string]any{
		"mail_from": "Lakewarden <lakewarden@localhost>",
		"listen":    "127.0.0.1:8080", "data_dir": "./data", "log_level": "info",
		"memory_mib": defaultMemoryMiB(), "statement_memory_mib": 1024, "temp_mib": 10240, "spill_mib": 10240, "spill_org_mib": 5120,
		"threads": runtime.NumCPU(), "max_running": 8 * runtime.NumCPU(), "max_queued": 512,
		"query_timeout": "60s", "max_query_timeout": "10m", "rate_per_minute": 6000, "rate_burst": 200,
		"discovery_interval": "5m", "vanish_after": "1m", "undo_window": "300s",
		"drain_timeout": "30s", "drain_notice": "0s", "open_registration": false,
		"organisations": OrganisationsByAnyone, "allow_private_endpoints": false, "store_timeout": "10s",
		"cache_memory_mib": 256, "cache_disk_mib": 4096,
		"isolation":         defaultIsolation(),
		"body_rows":         10_000_000,
		"sandbox_quota_mib": 1024, "result_mib": 1024, "results_org_mib": 10240, "results_keep": "24h",
		"analyses_per_minute": 30, "analysis_tokens_per_day": 2_000_000, "analysis_cost_per_day": 0, "analysis_model_timeout": "30s",
		"analysis_family_a_prefix": "claude-", "analysis_family_b_prefix": "gpt-", "analysis_family_c_prefix": "gemini-",
	}
}

// defaultIsolation returns a process for each organisation on systems where processes
// can be watched.
func defaultIsolation() string {
	if runtime.GOOS == "linux" {
		return IsolationProcess
	}
	return IsolationNone
}

// ExtensionsInstall is the command whose flags are followed by names.
const ExtensionsInstall = "extensions install"

// Load reads the settings from the defaults, the YAML file, the environment and the
// flags. Later sources take precedence.
func Load(fs *flag.FlagSet, args []string) (Settings, error) {
	k := koanf.New(".")
	flags := map[string]*string{}
	for key, text := range map[string]string{
		"listen": "address to listen on", "data_dir": "directory for the catalog and local storage",
		"database_url": "postgres:// URL of the catalog; empty means SQLite in the data directory",
		"log_level":    "debug, info, warn or error",
	} {
		flags[key] = fs.String(strings.ReplaceAll(key, "_", "-"), "", text+" ("+variable(key)+")")
	}
	fs.Usage = func() { flagUsage(fs) }
	path := fs.String("config", os.Getenv(envPrefix+"CONFIG"), "YAML file with settings ("+envPrefix+"CONFIG)")
	if err := fs.Parse(args); err != nil {
		return Settings{}, err
	}
	if fs.NArg() > 0 && fs.Name() != ExtensionsInstall { // flags behind it would be ignored
		return Settings{}, fmt.Errorf("%s: unexpected argument %q", fs.Name(), fs.Arg(0))
	}
	if err := k.Load(confmap.Provider(defaults(), "."), nil); err != nil {
		return Settings{}, err
	}
	if *path != "" {
		if err := k.Load(file.Provider(*path), yaml.Parser()); err != nil {
			return Settings{}, fmt.Errorf("read %s: %w", *path, err)
		}
	}
	if err := k.Load(env.Provider(".", env.Opt{Prefix: envPrefix, TransformFunc: fromEnvironment}), nil); err != nil {
		return Settings{}, err
	}
	for key, value := range flags {
		if *value != "" {
			if err := k.Set(key, *value); err != nil {
				return Settings{}, err
			}
		}
	}
	if err := unknownKeys(k); err != nil {
		return Settings{}, err
	}
	var c Settings
	if err := k.Unmarshal("", &c); err != nil {
		return Settings{}, fmt.Errorf("settings: %s", strings.Join(strings.Fields(err.Error()), " ")) // may have several lines
	}
	return c, c.finish()
}

// fromEnvironment maps LAKEWARDEN_DATA_DIR to data_dir. It ignores variables that are
// not settings, such as those of tests.
func fromEnvironment(key, value string) (string, any) {
	key = strings.ToLower(strings.TrimPrefix(key, envPrefix))
	switch {
	case key == "config" || strings.HasPrefix(key, "test_") || key == "bench" || strings.HasPrefix(key, "bench_"):
		return "", nil
	case key == "local_roots":
		return key, filepath.SplitList(value)
	case key == "trusted_proxies", key == "ambient_storage": // addresses contain colons
		return key, strings.FieldsFunc(value, func(c rune) bool { return c == ',' || c == ' ' })
	}
	return key, value
}

func unknownKeys(k *koanf.Koanf) error {
	known := settingKeys()
	for _, key := range k.Keys() {
		top, _, _ := strings.Cut(key, ".")
		if !slices.Contains(known, top) {
			return fmt.Errorf("unknown setting %q (in the file, or %s in the environment)", top, variable(top))
		}
	}
	return nil
}

// callersInOrgRate is how many callers at their limit reach the default limit of an
// organisation.
const callersInOrgRate = 10

// finish makes paths absolute and checks every value.
func (c *Settings) finish() error {
	abs, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("data_dir: %w", err)
	}
	c.DataDir = abs
	if len(c.LocalRoots) == 0 {
		c.LocalRoots = []string{filepath.Join(c.DataDir, "storage")}
	}
	if c.SandboxRoot == "" {
		c.SandboxRoot = filepath.Join(c.DataDir, "sandbox")
	}
	if c.SandboxRoot, err = filepath.Abs(c.SandboxRoot); err != nil {
		return fmt.Errorf("sandbox_root: %w", err)
	}
	if c.KeyFile == "" {
		c.KeyFile = filepath.Join(c.DataDir, "keys.json")
	}
	if c.KeyFile, err = filepath.Abs(c.KeyFile); err != nil {
		return fmt.Errorf("key_file: %w", err)
	}
	c.RateOrgPerMinute = cmp.Or(c.RateOrgPerMinute, callersInOrgRate*c.RatePerMinute)
	c.RateOrgBurst = cmp.Or(c.RateOrgBurst, callersInOrgRate*c.RateBurst)
	if c.MailDir == "" {
		c.MailDir = filepath.Join(c.DataDir, "mail")
	}
	if c.PublicURL == "" {
		c.PublicURL = "http://" + c.Listen
	}
	if c.ResultsURL == "" {
		c.ResultsURL = (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(c.DataDir, "results"))}).String()
	}
	for i, root := range c.LocalRoots {
		if c.LocalRoots[i], err = filepath.Abs(root); err != nil {
			return fmt.Errorf("local_roots: %w", err)
		}
	}
	return c.Verify()
}

// CatalogURL returns the URL of the catalog: database_url, or SQLite in the data
// directory.
func (c *Settings) CatalogURL() string {
	if c.DatabaseURL != "" {
		return c.DatabaseURL
	}
	return "sqlite:" + filepath.Join(c.DataDir, "catalog.db")
}

// The values of [Settings.Organisations].
const (
	OrganisationsByAnyone   = "anyone"
	OrganisationsByOperator = "operator"
)

// The values of [Settings.Isolation].
const (
	IsolationProcess = "process"
	IsolationNone    = "none"
)

// ExtensionDirs returns the directories that may hold DuckDB extensions, in the
// order in which they are searched.
func (c *Settings) ExtensionDirs() []string {
	dirs := []string{filepath.Join(c.DataDir, "extensions"), "/usr/lib/lakewarden/extensions"}
	if exe, err := os.Executable(); err == nil {
		dirs = append([]string{filepath.Join(filepath.Dir(exe), "extensions")}, dirs...)
	}
	if c.ExtensionDir != "" {
		dirs = append([]string{c.ExtensionDir}, dirs...)
	}
	return dirs
}
