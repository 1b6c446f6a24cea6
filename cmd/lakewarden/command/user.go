package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// User is a user with a new API key.
type User struct {
	UserID string `json:"user_id"`
	APIKey string `json:"api_key"`
}

const userUsage = "lakewarden user add --org ID --email E [--role R] [--json]\n       lakewarden user key --org ID --email E [--json]\n" +
	"       lakewarden user bind --org ID --email E --issuer URL --subject S [--json]"

// runUser adds a member to an organisation, creates another key for a member, or binds a subject
// of an identity provider to a member. A key made with an API key never lives longer than that
// key, so an organisation needs this command when its last key expires.
func runUser(ctx context.Context, out io.Writer, args []string) error {
	if len(args) > 0 && args[0] == "bind" {
		return runUserBind(ctx, out, args[1:])
	}
	if len(args) == 0 || args[0] != "add" && args[0] != "key" {
		return subcommandUsage(out, args, userUsage, "")
	}
	name := "user " + args[0]
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	org := fs.String("org", "", "id of the organisation (required)")
	email := fs.String("email", "", "e-mail address (required)")
	role := new(string)
	if args[0] == "add" {
		role = fs.String("role", "viewer", "viewer, editor, builder or admin")
	}
	asJSON := fs.Bool("json", false, "print one JSON object")
	settings, err := config.Load(fs, args[1:])
	if err != nil {
		return err
	}
	if *org == "" || *email == "" {
		return errors.New(name + " needs --org and --email")
	}
	store, err := openCatalog(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	reply, err := User{}, error(nil)
	if args[0] == "add" {
		reply, err = AddUser(ctx, store, *org, *email, *role)
	} else {
		reply, err = keyOfUser(ctx, store, *org, *email)
	}
	if err != nil {
		return err
	}
	return printReply(out, *asJSON, reply, fmt.Sprintf("user    %s\nAPI key %s\n", reply.UserID, reply.APIKey))
}

// AddUser adds a user, who may exist in another organisation, as a member.
func AddUser(ctx context.Context, store catalog.Store, org, email, role string) (User, error) {
	id, err := organisationOf(ctx, store, org)
	if err != nil {
		return User{}, err
	}
	parsed, err := auth.ParseRole(role)
	if err != nil {
		return User{}, err
	}
	user, err := userByEmail(ctx, store, email)
	if err != nil {
		return User{}, err
	}
	if _, err := store.AddMember(ctx, id, user, catalog.Role(parsed)); errors.Is(err, catalog.ErrExists) {
		return User{}, fmt.Errorf("%s is already a member of the organisation %s", email, org)
	} else if err != nil {
		return User{}, err
	}
	key, err := makeKey(ctx, store, id, user, parsed, "command line")
	if err != nil {
		return User{}, err
	}
	err = record(ctx, store, id, "command.user_add", user)
	return User{UserID: string(user), APIKey: key}, err
}

// keyOfUser makes a key for a member with every scope that the member's role allows.
func keyOfUser(ctx context.Context, store catalog.Store, org, email string) (User, error) {
	id, err := organisationOf(ctx, store, org)
	if err != nil {
		return User{}, err
	}
	member, err := memberByEmail(ctx, store, id, email)
	if err != nil {
		return User{}, err
	}
	key, err := makeKey(ctx, store, id, member.User, auth.Role(member.Role), "command line")
	if err != nil {
		return User{}, err
	}
	err = record(ctx, store, id, "command.user_key", member.User)
	return User{UserID: string(member.User), APIKey: key}, err
}

// memberByEmail returns the member of an organisation with an e-mail address.
func memberByEmail(ctx context.Context, store catalog.Store, org catalog.OrgID, email string) (member catalog.Membership, err error) {
	user, err := store.UserByEmail(ctx, email)
	if err == nil {
		member, err = store.Membership(ctx, org, user.ID)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("%s is not a member of the organisation %s", email, org)
	}
	return member, err
}

func organisationOf(ctx context.Context, store catalog.Store, text string) (catalog.OrgID, error) {
	id, err := catalog.ParseID[catalog.OrgID](text)
	if err == nil {
		_, err = store.Organisation(ctx, id)
	}
	if err != nil {
		return "", fmt.Errorf("organisation %s: %w", text, err)
	}
	return id, nil
}
