package problem

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/sqlguard/refusal"
)

// fieldsOf yields the fields that an error names. The messages are texts of this program;
// the only data in them is what the client sent or may see.
func fieldsOf(err error, camel bool) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		var (
			r       *Refusal
			fields  fielder
			broken  catalog.FieldErrors
			exists  *catalog.ExistsError
			version *catalog.VersionConflictError
			denied  *catalog.DeniedError
			scope   *auth.ScopeError
			field   *policy.FieldError
			text    *policy.TextError
			guard   *refusal.Error
			failure *engine.Error
			feature *delta.FeatureError
			part    *delta.PartitionError
			unread  *staging.SyntaxError
			cut     *staging.CutError
			limit   *staging.LimitError
			store   *objstore.StoreError
		)
		reason, refused := tableReason(err)
		switch {
		case errors.As(err, &r):
			for _, d := range r.Details {
				if !yield(d.Field, d.Message) {
					return
				}
			}
		case errors.As(err, &fields):
			fields.FieldProblems()(yield)
		case refused:
			reasonFields(err, reason, yield)
		case errors.As(err, &broken):
			for _, f := range broken {
				if !yield(wireName(f.Field, camel), f.Message) {
					return
				}
			}
		case errors.As(err, &exists):
			yield(wireName(exists.Field, camel), "is taken")
		case errors.As(err, &version):
			yield(wireName("expected_version", camel), fmt.Sprintf("current version is %d", version.Current))
		case errors.As(err, &denied):
			deniedFields(denied, yield)
		case errors.As(err, &scope):
			yield("scope", string(scope.Scope)+" is missing")
		case errors.As(err, &field):
			yield(field.Field, field.Message)
		case errors.As(err, &text):
			yield("policyText", fmt.Sprintf("line %d, column %d: %s", text.Line, text.Column, text.Message))
		case errors.As(err, &guard), errors.As(err, &failure):
			statementFields(err, yield)
		case errors.As(err, &feature):
			yield("feature", feature.Feature)
		case errors.As(err, &part):
			yield(partitionField(part))
		case errors.As(err, &unread):
			yield("body", unread.Error())
		case errors.As(err, &cut):
			yield("body", cut.Error())
		case errors.As(err, &limit) && limit.What == staging.LimitedRows:
			yield("rows", fmt.Sprintf("must be at most %d", limit.Limit))
		case errors.Is(err, staging.ErrTooDeep):
			yield("body", "is nested too deep")
		case errors.Is(err, staging.ErrNoRows):
			yield("rows", "must be a list of rows")
		case errors.As(err, &store):
			detail := storeDetail(store, camel)
			yield(detail.Field, detail.Message)
		}
	}
}

// partitionField returns the detail of a partition value that cannot be read. It names
// the column unless the error conceals it, and never the value, because the file may
// contain hidden rows.
func partitionField(e *delta.PartitionError) (field, message string) {
	field = "partition_column"
	if e.Column != "" {
		field = "columns." + e.Column
	}
	return field, "a file has a partition value that " + e.Reason()
}

// storeDetail returns a detail with the name of the storage configuration: a caller who
// gets the error can see one of its tables.
func storeDetail(e *objstore.StoreError, camel bool) Detail {
	what := "cannot be reached"
	switch {
	case e.RefusesWrites():
		what = "does not let its credential write"
	case errors.Is(e.Err, objstore.ErrCredential):
		what = "does not accept its credential"
	case errors.Is(e.Err, objstore.ErrDenied):
		what = "denies access"
	}
	return Detail{wireName("config_name", camel), strconv.Quote(e.Name) + " " + what}
}

// wireName returns the name of a catalog field as the resource spells it. Names below
// attributes are the client's own and stay unchanged; so does the page token, a query
// parameter with the same spelling for every resource.
func wireName(field string, camel bool) string {
	if !camel || field == "page_token" {
		return field
	}
	head, below, found := strings.Cut(field, "attributes.")
	var b strings.Builder
	upper := false
	for _, r := range head {
		switch {
		case r == '_':
			upper = true
		case upper:
			b.WriteString(strings.ToUpper(string(r)))
			upper = false
		default:
			b.WriteRune(r)
		}
	}
	if found {
		b.WriteString("attributes." + below)
	}
	return b.String()
}
