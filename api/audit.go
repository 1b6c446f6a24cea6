package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/lakewarden/lakewarden/api/middleware"
	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/identity/throttle"
	"github.com/lakewarden/lakewarden/api/problem"
	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
)

// audit writes an audit entry for every call of an operation: the caller, the action, the
// path and the outcome. It wraps all operations, so a new one cannot be forgotten.
// Statements that ran write a more detailed entry themselves once their rows are sent.
// anonymous limits the entries about calls without a credential, which anybody can make.
func audit(auditor *caller.Auditor, anonymous *throttle.Refusals) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		finished := false
		defer func() {
			status := ctx.Status()
			if !finished { // a panic, which continues after this
				status = http.StatusInternalServerError
			}
			if status == 0 { // replies of rows write their own entry
				return
			}
			if entry, audited := entryOf(ctx, status, anonymous); audited {
				auditor.Record(entry)
			}
		}()
		next(huma.WithContext(ctx, caller.OneRequest(ctx.Context())))
		finished = true
	}
}

// entryOf returns the entry about a call. audited is false if it is one of a flood of calls
// without a credential.
func entryOf(ctx huma.Context, status int, anonymous *throttle.Refusals) (entry catalog.AuditEntry, audited bool) {
	action, resource, outcome := ctx.Operation().OperationID, ctx.URL().Path, outcomeOf(status)
	details := map[string]any{"status": status}
	audited = true
	if who, err := caller.From(ctx.Context()); err == nil {
		entry = caller.NewEntry(who, action, resource, outcome)
	} else {
		r, _ := humachi.Unwrap(ctx)
		entry = catalog.AuditEntry{
			Action: action, Resource: resource, Outcome: outcome, RequestID: problem.RequestID(ctx.Context()), Remote: middleware.Remote(r),
		}
		var limited string
		if limited, audited = anonymous.Add("", entry.Remote); limited != "" {
			details["rate_limited"] = limited
		}
	}
	entry.Details, _ = json.Marshal(details) // an integer and a text: cannot fail
	return entry, audited
}

// auditRefusal returns a function that writes an audit entry for a refused credential.
// The entry holds the claimed prefix and nothing else of the credential. It names no
// organisation, because anybody who knows a prefix can claim it, unless a foreign issuer has
// signed the token and its subject is not confirmed: then it holds the subject. An entry that lists
// kinds of names covers all refusals of those names within a minute.
func auditRefusal(auditor *caller.Auditor) func(*http.Request, *auth.Refusal, []string) {
	return func(r *http.Request, refusal *auth.Refusal, limited []string) {
		entry := catalog.AuditEntry{
			Action: "authenticate", Outcome: catalog.OutcomeDeny, RequestID: problem.RequestID(r.Context()), Remote: middleware.Remote(r),
		}
		if refusal.Prefix != "" {
			entry.Resource = "key-prefix/" + refusal.Prefix
		}
		details := map[string]any{}
		if limited != nil {
			details["rate_limited"] = limited
		}
		var unbound *auth.UnboundError
		if errors.As(refusal.Cause, &unbound) {
			entry.Org, entry.Resource = catalog.OrgID(unbound.Org.String()), "user/"+unbound.User.String()
			details["issuer"], details["subject"], details["reason"] = unbound.Issuer, unbound.Subject, unbound.Reason
		}
		if len(details) > 0 {
			entry.Details, _ = json.Marshal(details) // strings: cannot fail
		}
		auditor.Record(entry)
	}
}

func outcomeOf(status int) catalog.Outcome {
	switch {
	case status < http.StatusBadRequest:
		return catalog.OutcomeAllow
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound:
		return catalog.OutcomeDeny
	}
	return catalog.OutcomeError
}
