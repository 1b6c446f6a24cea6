package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/api/ops/lake"
	"github.com/lakewarden/lakewarden/api/ops/storage"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/command/demodata"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/deltasql"
	"github.com/lakewarden/lakewarden/engine/duckdb"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/objstore/file"
)

// demoFile stores the output of the demo. Its keys are valid for the demo organisation
// on this machine only.
const demoFile = "demo.json"

// demoName is the name of the demo's organisation.
const demoName = "Demo Airways"

// demoConfig is the name of the demo's storage configuration.
const demoConfig = "nycflights"

type demo struct {
	OrganisationID string   `json:"organisation_id"`
	ConfigID       string   `json:"config_id"`
	Admin          userDemo `json:"admin"`
	// Ana flies with two carriers, and Ben works at one airport.
	Ana userDemo `json:"ana"`
	Ben userDemo `json:"ben"`
}

type userDemo struct {
	UserID string `json:"user_id"`
	APIKey string `json:"api_key"`
}

func (p Program) demo(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print one JSON object")
	settings, err := config.Load(flags, args)
	if err != nil {
		return err
	}
	path := filepath.Join(settings.DataDir, demoFile)
	d, err := readDemo(path)
	if errors.Is(err, fs.ErrNotExist) {
		d, err = p.makeDemo(ctx, settings, path)
	}
	if err != nil {
		return err
	}
	return printReply(out, *asJSON, d, d.tour(settings.Listen))
}

func readDemo(path string) (demo, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return demo{}, err
	}
	var d demo
	return d, json.Unmarshal(raw, &d)
}

// makeDemo builds the organisation. It writes the file last. An organisation of the
// demo's name without the file was left by an interrupted run.
func (p Program) makeDemo(ctx context.Context, settings config.Settings, path string) (demo, error) {
	raw, err := openCatalog(ctx, settings)
	if err != nil {
		return demo{}, err
	}
	defer func() { _ = raw.Close() }()
	store := authz.New(raw)
	if err := checkNotInterrupted(ctx, raw, settings.DataDir); err != nil {
		return demo{}, err
	}
	boot, err := Bootstrap(ctx, raw, demoName, "admin@demo.example")
	if err != nil {
		return demo{}, err
	}
	d := demo{OrganisationID: boot.OrganisationID, Admin: userDemo{boot.UserID, boot.APIKey}}
	administrator, err := principalOf(boot)
	if err != nil {
		return d, err
	}
	asAdmin := auth.WithPrincipal(ctx, administrator)
	opener, roots := p.Local(settings, store)
	allowed, err := roots(ctx, catalog.OrgID(boot.OrganisationID))
	if err != nil {
		return d, err
	}
	if len(allowed) == 0 {
		return d, errors.New("demo: the data directory already serves another organisation; use an empty --data-dir")
	}
	root := filepath.Join(allowed[0], demoConfig)
	if err := p.writeDemoTables(ctx, root); err != nil {
		return d, err
	}
	discovery := storage.Discovery{Store: store, Lake: lake.New(opener, delta.Options{})}
	configs := storage.Configs{Store: store, Discovery: discovery, LocalRoots: roots}
	made, err := configs.Create(asAdmin, storage.NewConfig{Name: demoConfig, Kind: "local", Workspace: boot.WorkspaceID, Root: root})
	if err != nil {
		return d, err
	}
	d.ConfigID = string(made.ID)
	if err := makeDemoUsers(ctx, raw, &d); err != nil {
		return d, err
	}
	if err := makeDemoPolicies(asAdmin, admin.Policies{Store: store, Lake: discovery.Lake}, made); err != nil {
		return d, err
	}
	if err := makeDemoDomains(asAdmin, store, catalog.UserID(boot.UserID), made); err != nil {
		return d, err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return d, err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return d, err
	}
	return d, os.Rename(path+".new", path)
}

// checkNotInterrupted refuses to continue an interrupted demo.
func checkNotInterrupted(ctx context.Context, store catalog.Store, dataDir string) error {
	organisations, err := store.ListOrganisations(ctx, catalog.Page{Size: catalog.MaxPageSize})
	if err != nil {
		return err
	}
	for _, org := range organisations.Items {
		if org.Name == demoName {
			return fmt.Errorf("an earlier demo was interrupted: remove the data directory %s, or choose an empty one with --data-dir", dataDir)
		}
	}
	return nil
}

func principalOf(boot Bootstrapped) (auth.Principal, error) {
	org, err := uuid.Parse(boot.OrganisationID)
	if err != nil {
		return auth.Principal{}, err
	}
	user, err := uuid.Parse(boot.UserID)
	return auth.Principal{
		OrgID: org, UserID: user, Role: auth.RoleAdmin,
		Granted: auth.AllScopes(), Scopes: auth.AllScopes(), Method: auth.MethodJWT, RequestID: uuid.NewString(),
	}, err
}

// writeDemoTables writes the embedded files as Delta tables below root.
func (p Program) writeDemoTables(ctx context.Context, root string) error {
	bucket, err := file.Create(root)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "lakewarden-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	eng, err := duckdb.New(ctx, duckdb.Options{Extensions: []string{}})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }() // the tables are already written
	for _, name := range demodata.Tables {
		raw, err := demodata.Files.ReadFile(demodata.FileOf(name))
		if err != nil {
			return err
		}
		source := filepath.Join(temp, name+".parquet")
		if err := os.WriteFile(source, raw, 0o600); err != nil {
			return err
		}
		schema, err := demoSchema(name)
		if err != nil {
			return err
		}
		_, err = write.Import(ctx, eng, []string{temp}, write.Imported{
			Schema: schema, PartitionBy: demodata.PartitionBy[name], Bucket: objstore.Prefix(bucket, name), Scratch: temp,
			Rows: engine.Statement{SQL: demodata.RowsOf(name, "read_parquet("+engine.QuoteString(source)+", hive_partitioning=false)")},
		}, delta.Options{EngineInfo: "Lakewarden/" + p.Version})
		if err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
	}
	return nil
}

func demoSchema(table string) (delta.Struct, error) {
	var schema delta.Struct
	for _, c := range demodata.Columns[table] {
		t, err := deltasql.ParseType(c.Type)
		if err != nil {
			return schema, err
		}
		schema.Fields = append(schema.Fields, delta.Field{Name: c.Name, Type: t, Nullable: true})
	}
	return schema, nil
}

func makeDemoUsers(ctx context.Context, store catalog.Store, d *demo) error {
	for _, u := range []struct {
		name       string
		to         *userDemo
		attributes map[string]string
	}{
		{"ana", &d.Ana, map[string]string{"carriers": "UA,DL"}},
		{"ben", &d.Ben, map[string]string{"airport": "JFK"}},
	} {
		made, err := AddUser(ctx, store, d.OrganisationID, u.name+"@demo.example", "viewer")
		if err != nil {
			return err
		}
		*u.to = userDemo(made)
		if _, err := store.ReplaceAttributes(ctx, catalog.OrgID(d.OrganisationID), catalog.UserID(made.UserID), u.attributes); err != nil {
			return err
		}
	}
	return nil
}

// makeDemoPolicies lets members see the flights that their attributes name, and
// administrators all flights.
func makeDemoPolicies(ctx context.Context, policies admin.Policies, config catalog.StorageConfig) error {
	p, err := auth.PrincipalFrom(ctx)
	if err != nil {
		return err
	}
	for _, def := range []struct{ column, definition string }{
		{"carrier", `{"effect":"permit","subject":{"attribute":"carriers","op":"in"},"condition":null}`},
		{"origin", `{"effect":"permit","subject":{"attribute":"airport","op":"eq"},"condition":null}`},
		{"", `{"effect":"permit","subject":{"role":"admin"},"condition":null}`},
	} {
		_, err := policies.Create(ctx, catalog.OrgID(p.OrgID.String()), admin.PolicyInput{
			TableFQN: "lake." + config.Schema() + ".flights", ColumnName: def.column, Kind: "rls",
			Definition: json.RawMessage(def.definition), Enabled: true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// tour returns the commands for a person to try next.
func (d demo) tour(address string) string {
	const ask = `curl -s http://%s/v1/query -H "Authorization: Bearer $%s" --json '{"sql":"%s"}'` + "\n"
	const count = "SELECT carrier, count(*) AS flights FROM nycflights.flights GROUP BY 1 ORDER BY 2 DESC LIMIT 5"
	text := fmt.Sprintf("Organisation %s has tables of flights, airlines, airports, planes, models and weather. "+
		"Three people see them:\n\n", d.OrganisationID)
	text += fmt.Sprintf("export ADMIN=%s\nexport ANA=%s   # flights of UA and DL\nexport BEN=%s   # flights from JFK\n\n",
		d.Admin.APIKey, d.Ana.APIKey, d.Ben.APIKey)
	text += fmt.Sprintf(ask, address, "ADMIN", count) + fmt.Sprintf(ask, address, "ANA", count) + fmt.Sprintf(ask, address, "BEN", count)
	text += fmt.Sprintf("\nAll policies:  curl -s http://%s/v1/organisations/%s/policies -H \"Authorization: Bearer $ADMIN\"\n",
		address, d.OrganisationID)
	text += fmt.Sprintf("All routes:    http://%s/docs\n\n", address)
	return text
}
