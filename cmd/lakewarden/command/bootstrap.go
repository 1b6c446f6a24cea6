package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/apikey"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// commandKeyLife is the life of keys that the command line creates. It is the longest
// possible one, because no key outlives the key that created it.
const commandKeyLife = catalog.MaxKeyLife

// Bootstrapped is a new organisation with its first administrator.
type Bootstrapped struct {
	OrganisationID string `json:"organisation_id"`
	WorkspaceID    string `json:"workspace_id"`
	UserID         string `json:"user_id"`
	APIKey         string `json:"api_key"`
}

func runBootstrap(ctx context.Context, out io.Writer, args []string) error {
	fs := flag.NewFlagSet("bootstrap", flag.ContinueOnError)
	org := fs.String("org", "", "name of the organisation (required)")
	email := fs.String("email", "", "e-mail address of its first administrator (required)")
	asJSON := fs.Bool("json", false, "print one JSON object")
	settings, err := config.Load(fs, args)
	if err != nil {
		return err
	}
	if *org == "" || *email == "" {
		return errors.New("bootstrap needs --org and --email")
	}
	store, err := openCatalog(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	reply, err := Bootstrap(ctx, store, *org, *email)
	if err != nil {
		return err
	}
	return printReply(out, *asJSON, reply, fmt.Sprintf("organisation %s\nworkspace    %s\nuser         %s\nAPI key      %s\n",
		reply.OrganisationID, reply.WorkspaceID, reply.UserID, reply.APIKey))
}

// openCatalog opens the catalog and migrates its schema.
func openCatalog(ctx context.Context, settings config.Settings) (*sqlstore.Store, error) {
	return sqlstore.Open(ctx, settings.CatalogURL(), sqlstore.Options{Logger: settings.NewLogger()})
}

// Bootstrap creates an organisation with its first administrator, who may already be a
// member of another one.
func Bootstrap(ctx context.Context, store catalog.Store, name, email string) (Bootstrapped, error) {
	user, err := userByEmail(ctx, store, email)
	if err != nil {
		return Bootstrapped{}, err
	}
	org, err := store.CreateOrganisation(ctx, catalog.NewOrganisation{Name: name, Owner: user})
	if err != nil {
		return Bootstrapped{}, err
	}
	workspace, err := store.DefaultWorkspace(ctx, org.ID)
	if err != nil {
		return Bootstrapped{}, err
	}
	key, err := makeKey(ctx, store, org.ID, user, auth.RoleAdmin, "bootstrap")
	if err != nil {
		return Bootstrapped{}, err
	}
	err = record(ctx, store, org.ID, "command.bootstrap", user)
	return Bootstrapped{OrganisationID: string(org.ID), WorkspaceID: string(workspace.ID), UserID: string(user), APIKey: key}, err
}

func userByEmail(ctx context.Context, store catalog.Store, email string) (catalog.UserID, error) {
	user, err := store.UserByEmail(ctx, email)
	if errors.Is(err, catalog.ErrNotFound) {
		user, err = store.CreateUser(ctx, catalog.NewUser{Email: email})
	}
	return user.ID, err
}

// makeKey creates a key for all workspaces with every scope of the role.
func makeKey(
	ctx context.Context, store catalog.Store, org catalog.OrgID, user catalog.UserID, role auth.Role, name string,
) (string, error) {
	key := apikey.Generate()
	_, err := store.CreateAPIKey(ctx, catalog.NewAPIKey{
		Org: org, User: user, AllWorkspaces: true, Name: name, Prefix: key.Prefix(), Hash: key.Hash(), Scopes: role.Scopes().Strings(),
		ExpiresAt: time.Now().Add(commandKeyLife), CommandLine: true,
	})
	return key.Reveal(), err
}

// record audits a command. A command has direct access to the catalog, so the entry
// names no actor.
func record(ctx context.Context, store catalog.Audit, org catalog.OrgID, action string, user catalog.UserID) error {
	return store.AppendAudit(ctx, catalog.AuditEntry{
		Org: org, Action: action, Resource: "user/" + string(user), Outcome: catalog.OutcomeAllow,
	})
}

// printReply writes the result of a command.
func printReply(out io.Writer, asJSON bool, reply any, text string) error {
	if asJSON {
		return json.NewEncoder(out).Encode(reply)
	}
	_, err := io.WriteString(out, text)
	return err
}
