package problem

import (
	"context"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/auth/password"
	"github.com/lakewarden/lakewarden/auth/provider"
	"github.com/lakewarden/lakewarden/auth/sso"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/secret"
	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/constraint"
	"github.com/lakewarden/lakewarden/engine/delta"
	"github.com/lakewarden/lakewarden/engine/delta/action"
	"github.com/lakewarden/lakewarden/engine/delta/checkpoint"
	"github.com/lakewarden/lakewarden/engine/delta/logpath"
	"github.com/lakewarden/lakewarden/engine/dml"
	"github.com/lakewarden/lakewarden/engine/gateway"
	"github.com/lakewarden/lakewarden/engine/ingest/contentcoding"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/maintenance"
	"github.com/lakewarden/lakewarden/engine/objstore"
	"github.com/lakewarden/lakewarden/engine/policy"
	"github.com/lakewarden/lakewarden/engine/policy/sqlfilter"
	"github.com/lakewarden/lakewarden/engine/storage"
	"github.com/lakewarden/lakewarden/engine/storage/move"
	"github.com/lakewarden/lakewarden/sessions"
)

// row maps a sentinel to a code.
type row struct {
	name     string // package path below the module, dot, identifier
	sentinel error
	code     string
}

const storageUnavailable = "storage_unavailable"

// rows are tried in order; the narrower sentinel of a family precedes the wider.
var rows = []row{
	{"catalog/secret.ErrUnavailable", secret.ErrUnavailable, "key_service_unavailable"},
	{"auth.ErrExpired", auth.ErrExpired, "credential_expired"},
	{"auth.ErrRevoked", auth.ErrRevoked, "credential_revoked"},
	{"auth.ErrMalformed", auth.ErrMalformed, "unauthenticated"},
	{"auth.ErrNoMember", auth.ErrNoMember, "unauthenticated"},
	{"auth.ErrNoPrincipal", auth.ErrNoPrincipal, "unauthenticated"},
	{"auth.ErrUnauthenticated", auth.ErrUnauthenticated, "unauthenticated"},
	{"auth.ErrOrganisationRequired", auth.ErrOrganisationRequired, "organisation_required"},
	{"auth.ErrScopeMissing", auth.ErrScopeMissing, "insufficient_scope"},
	{"auth.ErrScopeEscalation", auth.ErrScopeEscalation, "scope_escalation"},
	{"auth.ErrWorkspaceEscalation", auth.ErrWorkspaceEscalation, "workspace_escalation"},
	{"auth.ErrForbidden", auth.ErrForbidden, "forbidden"},
	{"auth.ErrUnknownScope", auth.ErrUnknownScope, "invalid_field"},
	{"auth.ErrUnknownRole", auth.ErrUnknownRole, "invalid_field"},
	{"auth.ErrUnavailable", auth.ErrUnavailable, "unavailable"},
	{"auth/password.ErrBusy", password.ErrBusy, "server_busy"},

	{"auth/sso.ErrIssuer", sso.ErrIssuer, "issuer_refused"},
	{"auth/sso.ErrUnavailable", sso.ErrUnavailable, "identity_provider_unavailable"},
	{"auth/sso.ErrRefused", sso.ErrRefused, "sign_in_refused"},
	{"auth/sso.ErrLogoutToken", sso.ErrLogoutToken, "invalid_request"},
	{"auth/sso.ErrDomain", sso.ErrDomain, "invalid_field"},
	{"auth/sso.ErrRecord", sso.ErrRecord, "domain_not_verified"},
	{"auth/sso.ErrResolver", sso.ErrResolver, "resolver_unavailable"},

	{"auth/provider.ErrUnknown", provider.ErrUnknown, "not_found"},
	{"auth/provider.ErrGrant", provider.ErrGrant, "provider_refused"},
	{"auth/provider.ErrClient", provider.ErrClient, "provider_app_rejected"},
	{"auth/provider.ErrUnavailable", provider.ErrUnavailable, "provider_unavailable"},

	{"catalog.ErrWorkspaceNotFound", catalog.ErrWorkspaceNotFound, "invalid_field"},
	{"catalog.ErrNotFound", catalog.ErrNotFound, "not_found"},
	{"catalog.ErrExists", catalog.ErrExists, "already_exists"},
	{"catalog.ErrVersionConflict", catalog.ErrVersionConflict, "version_conflict"},
	{"catalog.ErrInvalid", catalog.ErrInvalid, "invalid_field"},
	{"catalog.ErrAmbiguous", catalog.ErrAmbiguous, "ambiguous"},
	{"catalog.ErrLastAdmin", catalog.ErrLastAdmin, "last_admin"},
	{"catalog.ErrOwner", catalog.ErrOwner, "owns_organisations"},
	{"catalog.ErrTooManyOrganisations", catalog.ErrTooManyOrganisations, "too_many_organisations"},
	{"catalog.ErrDefaultWorkspace", catalog.ErrDefaultWorkspace, "default_workspace"},
	{"catalog.ErrWorkspaceInUse", catalog.ErrWorkspaceInUse, "workspace_in_use"},
	{"catalog.ErrLocationTaken", catalog.ErrLocationTaken, "location_taken"},
	{"catalog.ErrSandbox", catalog.ErrSandbox, "sandbox_config"},
	{"catalog.ErrAttached", catalog.ErrAttached, "already_attached"},
	{"catalog.ErrUndoExpired", catalog.ErrUndoExpired, "undo_window_expired"},
	{"catalog.ErrUndoClosed", catalog.ErrUndoClosed, "undo_window_closed"},
	{"catalog.ErrQuota", catalog.ErrQuota, "quota_exceeded"},
	{"catalog.ErrTableState", catalog.ErrTableState, "table_state"},
	{"catalog.ErrRevoked", catalog.ErrRevoked, "credential_not_usable"},
	{"catalog.ErrOperationLive", catalog.ErrOperationLive, "operation_running"},
	{"catalog.ErrMoveUnderWay", catalog.ErrMoveUnderWay, "move_under_way"},
	{"catalog.ErrTableMoving", catalog.ErrTableMoving, "table_moving"},
	{"catalog.ErrDomainInUse", catalog.ErrDomainInUse, "domain_in_use"},
	{"catalog.ErrDomainKind", catalog.ErrDomainKind, "domain_type_mismatch"},
	{"catalog.ErrDomainCycle", catalog.ErrDomainCycle, "domain_cycle"},
	{"catalog.ErrValueChange", catalog.ErrValueChange, "value_change_running"},
	{"catalog.ErrDomainsChanged", catalog.ErrDomainsChanged, "commit_conflict"},
	{"catalog.ErrDomainTaken", catalog.ErrDomainTaken, "domain_taken"},
	{"catalog.ErrConsent", catalog.ErrConsent, "forbidden"},
	{"catalog.ErrSubjectRefused", catalog.ErrSubjectRefused, "sign_in_refused"},
	{"catalog.ErrDenied", catalog.ErrDenied, "forbidden"},
	{"catalog.ErrNoActor", catalog.ErrNoActor, "unauthenticated"},
	{"catalog.ErrUnavailable", catalog.ErrUnavailable, "unavailable"},

	{"sessions.ErrBusy", sessions.ErrBusy, "server_busy"},
	{"sessions.ErrClosed", sessions.ErrClosed, "unavailable"},

	{"engine.ErrTimeout", engine.ErrTimeout, "query_timeout"},
	{"engine.ErrInterrupted", engine.ErrInterrupted, "query_cancelled"},
	{"engine.ErrFatal", engine.ErrFatal, "engine_failed"},
	{"engine.ErrOutOfMemory", engine.ErrOutOfMemory, "query_memory_exhausted"},

	{"engine/gateway.ErrClosed", gateway.ErrClosed, "unavailable"},
	{"engine/gateway.ErrNeedsIsolation", gateway.ErrNeedsIsolation, "isolation_required"},
	{"engine/gateway.ErrContent", gateway.ErrContent, storageUnavailable},

	{"engine/policy.ErrDefinition", policy.ErrDefinition, "invalid_policy"},
	{"engine/policy.ErrText", policy.ErrText, "invalid_policy"},
	{"engine/policy/sqlfilter.ErrPolicy", sqlfilter.ErrPolicy, "policy_not_usable"},

	{"engine/delta.ErrTableNotFound", delta.ErrTableNotFound, "not_found"},
	{"engine/delta.ErrVersionNotFound", delta.ErrVersionNotFound, "version_not_found"},
	{"engine/delta.ErrIdentityChanged", delta.ErrIdentityChanged, "table_identity_changed"},
	{"engine/delta.ErrUnsupportedFeature", delta.ErrUnsupportedFeature, unsupportedFeature},
	{"engine/delta.ErrLogBroken", delta.ErrLogBroken, logBroken},
	{"engine/delta.ErrMalformed", delta.ErrMalformed, logBroken},
	{"engine/delta.ErrTooLarge", delta.ErrTooLarge, logBroken},
	{"engine/delta/logpath.ErrElsewhere", logpath.ErrElsewhere, unsupportedFeature},
	{"engine/delta.ErrUnsafePath", delta.ErrUnsafePath, logBroken},
	{"engine/delta/checkpoint.ErrCorrupt", checkpoint.ErrCorrupt, logBroken},
	{"engine/delta.ErrPartitionValue", delta.ErrPartitionValue, "partition_value_unreadable"},
	{"engine/delta.ErrInvalidSchema", delta.ErrInvalidSchema, "invalid_schema"},
	{"engine/delta.ErrInvalidValue", delta.ErrInvalidValue, "invalid_value"},
	{"engine/delta.ErrTableExists", delta.ErrTableExists, "table_exists"},
	{"engine/delta.ErrInvalidProperty", delta.ErrInvalidProperty, "invalid_property"},
	{"engine/delta.ErrInvalidTxn", delta.ErrInvalidTxn, "internal_error"},
	{"engine/delta/action.ErrInvalidCommit", action.ErrInvalidCommit, "internal_error"},
	{"engine/delta.ErrProtocolChanged", delta.ErrProtocolChanged, "protocol_changed"},
	{"engine/delta.ErrConcurrentTransaction", delta.ErrConcurrentTransaction, "concurrent_transaction"},
	{"engine/delta.ErrConflict", delta.ErrConflict, "commit_conflict"},
	{"engine/delta.ErrConcurrentAppend", delta.ErrConcurrentAppend, "commit_conflict"},
	{"engine/delta.ErrConcurrentDeleteRead", delta.ErrConcurrentDeleteRead, "commit_conflict"},
	{"engine/delta.ErrConcurrentDeleteDelete", delta.ErrConcurrentDeleteDelete, "commit_conflict"},
	{"engine/delta.ErrMetadataChanged", delta.ErrMetadataChanged, "commit_conflict"},
	{"engine/delta.ErrDomainConflict", delta.ErrDomainConflict, "commit_conflict"},
	{"engine/delta.ErrContention", delta.ErrContention, "commit_conflict"},
	{"engine/delta.ErrCommitUnknown", delta.ErrCommitUnknown, "outcome_unknown"},

	{"engine/dml.ErrHiddenMatch", dml.ErrHiddenMatch, "rls_violation"},
	{"engine/dml.ErrNotListed", dml.ErrNotListed, unsupportedFeature},

	{"engine/ingest/contentcoding.ErrUnknown", contentcoding.ErrUnknown, "unsupported_media_type"},
	{"engine/ingest/staging.ErrTruncated", staging.ErrTruncated, "invalid_body"},
	{"engine/ingest/staging.ErrTooDeep", staging.ErrTooDeep, "invalid_body"},
	{"engine/ingest/staging.ErrTooLarge", staging.ErrTooLarge, "payload_too_large"},
	{"engine/ingest/staging.ErrNoRows", staging.ErrNoRows, "invalid_field"},
	{"engine/ingest/staging.ErrDialect", staging.ErrDialect, "invalid_field"},
	{"engine/ingest/staging.ErrUnsupportedType", staging.ErrUnsupportedType, unsupportedFeature},

	// Errors of stores reach a client only if no package above interprets them: a file
	// that the log or the catalog refers to.
	{"engine/objstore.ErrUnknown", objstore.ErrUnknown, "outcome_unknown"},
	{"engine/objstore.ErrNoBucket", objstore.ErrNoBucket, storageUnavailable},
	{"engine/objstore.ErrUnavailable", objstore.ErrUnavailable, storageUnavailable},
	{"engine/objstore.ErrCredential", objstore.ErrCredential, storageUnavailable},
	{"engine/objstore.ErrDenied", objstore.ErrDenied, storageUnavailable},
	{"engine/objstore.ErrNotFound", objstore.ErrNotFound, storageUnavailable},
	{"engine/objstore.ErrExists", objstore.ErrExists, "commit_conflict"},
	{"engine/objstore.ErrInvalidName", objstore.ErrInvalidName, "internal_error"},
	{"engine/objstore.ErrSize", objstore.ErrSize, "internal_error"},

	{"engine/maintenance.ErrRetention", maintenance.ErrRetention, "invalid_field"},
	{"engine/maintenance.ErrZOrder", maintenance.ErrZOrder, "invalid_field"},
	{"engine/maintenance.ErrRowsDiffer", maintenance.ErrRowsDiffer, logBroken},

	{"engine/constraint.ErrInvalidCheck", constraint.ErrInvalidCheck, "invalid_field"},
	{"engine/constraint.ErrInvalidKey", constraint.ErrInvalidKey, "invalid_field"},

	{"engine/storage.ErrRootInvalid", storage.ErrRootInvalid, "invalid_location"},
	{"engine/storage.ErrRootNotAllowed", storage.ErrRootNotAllowed, "invalid_location"},
	{"engine/storage.ErrEndpointRefused", storage.ErrEndpointRefused, "invalid_location"},
	{"engine/storage.ErrEndpointUnknown", storage.ErrEndpointUnknown, "invalid_location"},
	{"engine/storage.ErrNotAtomic", storage.ErrNotAtomic, "storage_not_usable"},
	{"engine/storage.ErrContent", storage.ErrContent, "storage_not_usable"},
	{"engine/storage/move.ErrOccupied", move.ErrOccupied, "destination_not_empty"},
	{"engine/storage/move.ErrSourceChanged", move.ErrSourceChanged, "source_changed"},
	{"engine/storage/move.ErrDamaged", move.ErrDamaged, "storage_not_usable"},

	{"context.DeadlineExceeded", context.DeadlineExceeded, "unavailable"},
	{"context.Canceled", context.Canceled, "unavailable"}, // cancelled by the server; see clientGone
}
