package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

// BoundUser is a member with a subject of an identity provider.
type BoundUser struct {
	UserID  string `json:"user_id"`
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// runUserBind binds a subject of an identity provider to a member on the operator's word.
func runUserBind(ctx context.Context, out io.Writer, args []string) error {
	fs := flag.NewFlagSet("user bind", flag.ContinueOnError)
	org := fs.String("org", "", "id of the organisation (required)")
	email := fs.String("email", "", "e-mail address of the member (required)")
	issuer := fs.String("issuer", "", "issuer of the identity provider or of tokens, byte for byte (required)")
	subject := fs.String("subject", "", "the claim sub of the member there, byte for byte (required)")
	asJSON := fs.Bool("json", false, "print one JSON object")
	settings, err := config.Load(fs, args)
	if err != nil {
		return err
	}
	if *org == "" || *email == "" || *issuer == "" || *subject == "" {
		return errors.New("user bind needs --org, --email, --issuer and --subject")
	}
	store, err := openCatalog(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	reply, err := BindUser(ctx, store, *org, *email, *issuer, *subject)
	if err != nil {
		return err
	}
	return printReply(out, *asJSON, reply, fmt.Sprintf("user    %s\nissuer  %s\nsubject %s\n", reply.UserID, reply.Issuer, reply.Subject))
}

// BindUser binds a subject of an identity provider to a member, whatever the member's role. It is
// the way back for an owner or administrator whom nobody else can let in.
func BindUser(ctx context.Context, store catalog.Store, org, email, issuer, subject string) (BoundUser, error) {
	id, err := organisationOf(ctx, store, org)
	if err != nil {
		return BoundUser{}, err
	}
	member, err := memberByEmail(ctx, store, id, email)
	if err != nil {
		return BoundUser{}, err
	}
	bound, err := store.BindIdentity(ctx, catalog.NewIdentityBinding{Org: id, User: member.User, Issuer: issuer, Subject: subject,
		Method: catalog.BoundByOperator})
	if errors.Is(err, catalog.ErrExists) {
		err = errors.New("the subject is bound to another member: release it first (DELETE /v1/organisations/{org}/users/{user}/identities/{id})")
	}
	if err != nil {
		return BoundUser{}, err
	}
	return BoundUser{UserID: string(bound.User), Issuer: bound.Issuer, Subject: bound.Subject},
		store.AppendAudit(ctx, bound.Entry(catalog.ActionIdentityBound))
}
