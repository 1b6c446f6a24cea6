package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/cmd/lakewarden/config"
)

const domainUsage = "lakewarden domain verify --org ID --domain D [--json]"

// verifiedDomain is the output of domain verify.
type verifiedDomain struct {
	Domain string `json:"domain"`
	Method string `json:"method"`
}

// runDomain verifies an e-mail domain of an organisation on the operator's word, without a
// record in DNS.
func runDomain(ctx context.Context, out io.Writer, args []string) error {
	if len(args) == 0 || args[0] != "verify" {
		return subcommandUsage(out, args, domainUsage, "")
	}
	fs := flag.NewFlagSet("domain verify", flag.ContinueOnError)
	org := fs.String("org", "", "id of the organisation (required)")
	domain := fs.String("domain", "", "e-mail domain that the organisation's single sign-on lists (required)")
	asJSON := fs.Bool("json", false, "print one JSON object")
	settings, err := config.Load(fs, args[1:])
	if err != nil {
		return err
	}
	if *org == "" || *domain == "" {
		return errors.New("domain verify needs --org and --domain")
	}
	store, err := openCatalog(ctx, settings)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	verified, err := VerifyDomain(ctx, store, *org, *domain)
	if err != nil {
		return err
	}
	reply := verifiedDomain{Domain: verified.Domain, Method: string(verified.Method)}
	return printReply(out, *asJSON, reply, fmt.Sprintf("domain  %s is verified\n", verified.Domain))
}

// VerifyDomain marks a listed domain of an organisation as verified by the operator. It is
// never looked up in DNS.
func VerifyDomain(ctx context.Context, store catalog.Store, org, domain string) (none catalog.EmailDomain, err error) {
	id, err := organisationOf(ctx, store, org)
	if err != nil {
		return none, err
	}
	name, err := sso.NormaliseDomain(domain)
	if err != nil {
		return none, fmt.Errorf("%s: %w", domain, err)
	}
	verified, err := store.VerifyEmailDomain(ctx, id, name, catalog.DomainByOperator)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return none, fmt.Errorf("%s is not listed in the single sign-on of the organisation %s", name, org)
	case err != nil:
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return verified, store.AppendAudit(ctx, catalog.AuditEntry{
		Org: id, Action: "command.domain_verify", Resource: "domain/" + name, Outcome: catalog.OutcomeAllow,
	})
}
