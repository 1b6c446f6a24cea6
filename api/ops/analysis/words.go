package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/lakewarden/lakewarden/api/ops/caller"
	"github.com/lakewarden/lakewarden/api/ops/fault"
	"github.com/lakewarden/lakewarden/api/ops/feature"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine/analysis/wording"
	"github.com/lakewarden/lakewarden/engine/llm"
)

// Words lets models word answers.
type Words struct {
	Providers Providers
	// Connect returns a client of a family.
	Connect func(family catalog.ModelFamily, access Access) (llm.Client, error)
	// VendorName returns the vendor's name of a model.
	VendorName func(llm.Model) string
}

// checkModel refuses a model that does not exist.
func checkModel(id string) error {
	if id == "" {
		return nil
	}
	if _, known := llm.Find(id); known {
		return nil
	}
	var ids []string
	for _, m := range llm.Models() {
		ids = append(ids, m.ID)
	}
	return fault.Invalid("model", "must be one of %s", strings.Join(ids, ", "))
}

// chosen is a model that may word an answer.
type chosen struct {
	llm.Model
	access Access
}

// choose returns the model of a request, or the default of the first family with a key. If no
// model may be asked, it returns nil and the reason; the reason is empty if the request names
// no model.
func (o *Service) choose(ctx context.Context, org catalog.OrgID, id string) (*chosen, string, error) {
	var off *feature.DisabledError
	switch err := feature.Require(ctx, o.Store, org, catalog.FeatureAnalysisModels); {
	case errors.As(err, &off):
		if id == "" {
			return nil, "", nil
		}
		return nil, "the feature analysis_models is switched off", nil
	case err != nil:
		return nil, "", err
	}
	if id != "" {
		m, _ := llm.Find(id)
		access, err := o.Words.Providers.Access(ctx, org, catalog.ModelFamily(m.Family))
		if errors.Is(err, catalog.ErrNotFound) {
			return nil, "no key is configured for " + string(m.Family), nil
		}
		return &chosen{m, access}, "", err
	}
	for _, family := range llm.Families() {
		access, err := o.Words.Providers.Access(ctx, org, catalog.ModelFamily(family))
		if errors.Is(err, catalog.ErrNotFound) {
			continue
		}
		m, _ := llm.Default(family)
		return &chosen{m, access}, "", err
	}
	return nil, "", nil
}

// word replaces the text of a reply by that of a model, if one may be asked. A model that
// fails leaves the reply as it is, with a warning.
func (o *Service) word(ctx context.Context, a caller.Identity, key digest, r Request, reply *Reply) error {
	m, reason, err := o.choose(ctx, a.Org, r.Model)
	if err != nil {
		return err
	}
	if m != nil {
		reason, err = o.ask(ctx, a, key.textKey(m.ID), *m, reply)
	}
	if reason != "" {
		// The answer may be that of the cache.
		reply.Warnings = append(append([]string{}, reply.Warnings...), "No model worded the text: "+reason+".")
	}
	return err
}

// ask lets a model word a reply. It returns the reason if the model did not.
func (o *Service) ask(ctx context.Context, a caller.Identity, key digest, m chosen, reply *Reply) (reason string, err error) {
	if text, known := o.Cache.texts.Get(key); known {
		reply.Text, reply.Model = text, m.ID
		return "", nil
	}
	allowed, err := o.Limits.Allows(ctx, a.Org)
	switch {
	case err != nil:
		return "", err
	case !allowed:
		return "the organisation has reached its limit for models today", nil
	}
	client, err := o.Words.Connect(catalog.ModelFamily(m.Family), m.access)
	if err != nil {
		return "the configured access to " + string(m.Family) + " is not valid", nil
	}
	began := time.Now()
	text, failed := wording.Write(ctx, client, o.Words.VendorName(m.Model), reply.Action, reply.Answer)
	cost, err := o.Limits.Spend(ctx, a.Org, m.ID, text.InputTokens, text.OutputTokens)
	o.Metrics.worded(string(m.Family), time.Since(began), text, cost, failed)
	o.recordWords(a, m, *reply, text, failed)
	switch {
	case err != nil:
		return "", err
	case failed != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case failed != nil:
		return reasonOf(failed), nil
	}
	o.Cache.texts.Add(key, text.Text)
	reply.Text, reply.Model = text.Text, m.ID
	return "", nil
}

// reasonOf says why a model failed. It quotes nothing that the provider sent.
func reasonOf(err error) string {
	switch {
	case errors.Is(err, llm.ErrRejected):
		return "the provider refused the key"
	case errors.Is(err, llm.ErrLimited):
		return "the provider is busy"
	case errors.Is(err, llm.ErrMalformed):
		return "its reply was not valid"
	}
	return "the provider is not available"
}

// recordWords writes an audit entry about a call of a model, without its text.
func (o *Service) recordWords(a caller.Identity, m chosen, reply Reply, text wording.Text, failed error) {
	outcome := catalog.OutcomeAllow
	if failed != nil {
		outcome = catalog.OutcomeError
	}
	entry := caller.NewEntry(a, "analysis.words", "table/"+string(reply.Location.Table), outcome)
	entry.Details, _ = json.Marshal(map[string]any{
		"action": reply.Action, "model": m.ID, "input_tokens": text.InputTokens, "output_tokens": text.OutputTokens,
		"prompt_sha256": text.PromptHash, "table_version": reply.Table.Version,
	})
	o.Audit.Record(entry)
}
