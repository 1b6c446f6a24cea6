package problem

import "net/http"

// Code is an entry of the table of errors.
type Code struct {
	// Name is the value of the member code. It never changes.
	Name string
	// Status is the HTTP status.
	Status int
	// Message is the text for people. It never depends on data; the details do, and so
	// does the number of problems that [From] adds.
	Message string
	// When describes, for the documentation, when the error is sent.
	When string
}

// StatusClientClosed is the status under which a request is counted if its client
// disconnected. It is never sent.
const StatusClientClosed = 499

// Statuses are the statuses whose replies have the error body.
var Statuses = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
	http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable,
}

// EmptyStatuses are the statuses whose replies have no body.
var EmptyStatuses = []int{http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge}

// Codes is the table of errors, ordered by status. docs/errors.md is generated from it.
var Codes = []Code{
	{"invalid_request", 400, "The request cannot be read.", "The request line, a header or a parameter cannot be parsed."},
	{"invalid_body", 400, "The request body cannot be read.", "The body is missing, broken off or not in the format that Content-Type " +
		"names. JSON may have at most 64 levels, 100,000 values, 10,000 members in an object or items in a list, and 4,096 bytes in a name, and " +
		"no duplicate names in an object."},
	{"body_too_slow", 400, "The request body arrives too slowly.",
		"The body arrived too slowly, paused for too long, or took too long in all; `details` say how fast it must arrive. The connection is " +
			"closed; nothing was done."},
	{"unsupported_media_type", 400, "The format of the request body is not supported.",
		"Content-Type names a format that the operation does not read, or Content-Encoding a coding."},
	{"not_acceptable", 400, "None of the accepted response formats is available.",
		"Accept names only formats that the operation does not write."},
	{"syntax_error", 400, "The SQL statement cannot be parsed.", "The text is not valid SQL; details give line and column."},
	{"statement_not_allowed", 400, "This kind of SQL statement is not served.",
		"The text is not exactly one statement of a kind that docs/sql.md lists."},
	{"syntax_not_allowed", 400, "The SQL statement uses syntax that is not served.", "The statement holds a clause outside docs/sql.md."},
	{"function_not_allowed", 400, "The SQL statement calls a function that is not served.",
		"The function exists in the engine but is closed to users."},
	{"function_not_found", 400, "The SQL statement calls a function that does not exist.",
		"No function has this name, or none takes these arguments."},
	{"argument_not_allowed", 400, "The SQL statement gives a function an argument that it does not take here.",
		"An argument is outside the limits of docs/sql.md."},
	{"type_not_allowed", 400, "The SQL statement uses a type that is not served.", "A cast names a type outside docs/sql.md."},
	{"invalid_time_travel", 400, "The AT clause is not a constant version or timestamp.", "AT needs (VERSION => n) or (TIMESTAMP => '…')."},
	{"too_complex", 400, "The SQL statement is too complex.", "Depth, list length or size is beyond the limits of GET /v1/limits."},
	{"statement_not_printable", 400, "The SQL statement cannot be run without changing its meaning.",
		"Rewrite the statement in simpler terms; nothing ran."},
	{"column_not_found", 400, "The SQL statement names a column that does not exist.",
		"Also sent for a column that is hidden from the caller."},
	{"table_not_found", 400, "The SQL statement names a table that does not exist.", "Also sent for a table that the caller may not see."},
	{"ambiguous_name", 400, "The SQL statement uses a name with more than one meaning.", "Qualify the name; details name what it may mean."},
	{"type_mismatch", 400, "The SQL statement combines types that do not fit.",
		"No operator or function takes these types; add a cast. details give line and column."},
	{"invalid_parameter", 400, "A statement parameter is missing or has the wrong type.",
		"parameters does not fit the placeholders of the statement."},
	{"invalid_statement", 400, "The SQL statement is not valid.", "A name, type or clause does not resolve and no narrower code fits."},
	{"invalid_state", 400, "The sign-in or link was not started by this browser, or is over.",
		"The state of the callback is unknown, used, older than ten minutes, or replaced by a later one, or the sign-in was started in " +
			"another browser. Start again."},

	{"unauthenticated", 401, "Authentication is required.", "The bearer token is missing or not valid."},
	{"credential_expired", 401, "The credential has expired.", "The API key or token was valid once."},
	{"credential_revoked", 401, "The credential has been revoked.", "The API key was revoked, or the session of the token has ended."},

	{"forbidden", 403, "This is not allowed.", "The caller is known and may not do this."},
	{"organisation_required", 403, "This needs a token for an organisation.",
		"The token names no organisation. It is for the own account, for the list, creation and restoration of organisations, and for the " +
			"acceptance of invitations."},
	{"table_partly_visible", 403, "The change is one of the whole table, of which policies hide a part from the caller.",
		"Ask a person who sees all of the table, or who holds rls_policies:write; see docs/policies.md."},
	{"insufficient_scope", 403, "The credential or role lacks a scope that this needs.", "details name the scope."},
	{"scope_escalation", 403, "Nobody can grant scopes beyond their own.", "The requested scopes go beyond the caller's."},
	{"workspace_escalation", 403, "An API key cannot reach further than its creator.",
		"The API key in use does not reach all workspaces of the key to be created or rotated."},
	{"role_escalation", 403, "Nobody can grant a role above their own.",
		"The requested role is above the caller's, or has scopes that the credential lacks."},
	{"outlives_key", 403, "The change would outlive the API key in use.",
		"What is made with a key ends with it, so a key changes only clients and service accounts that end with it, too; " +
			"a person who has signed in can change the others. See docs/keys.md."},
	{"not_owner", 403, "Only the owner can do this.", "The record belongs to another user."},
	{"not_attacher", 403, "Only the user who attached the configuration can undo that.", "The attach was made by another user."},
	{"operator_only", 403, "Only the operator creates organisations on this server.",
		"The setting LAKEWARDEN_ORGANISATIONS leaves this to the command line. Ask the operator."},
	{"sso_required", 403, "The organisation requires single sign-on.",
		"A password sign-in cannot be used in this organisation, which details name. A guest, whose address belongs to none of its " +
			"domains, needs an account of the organisation."},
	{"sign_in_refused", 403, "The sign-in was refused.",
		"details name the reason: the identity provider refused, its token is not valid, or its " +
			"e-mail address is not a verified one of the organisation's verified domains."},
	{"sign_in_required", 403, "This is for people who have signed in.",
		"API keys and service accounts cannot do this, and a sign-in that is limited to one organisation cannot act on another."},
	{"rls_violation", 403, "A row lies outside the caller's row filter.",
		"A written row would not be visible to its writer; nothing was written."},
	{"feature_disabled", 403, "This feature is switched off for the organisation.",
		"details name the feature, which an administrator can switch on in the organisation's config."},
	{"link_not_confirmed", 403, "The link was started in another browser.",
		"The browser that comes back from the provider is neither the one that started the link nor signed in as its member."},

	{"not_found", 404, "There is no such resource.", "It does not exist or the caller may not see it; the two look alike."},
	{"version_not_found", 404, "The table has no such version.", "The version was never written or can no longer be rebuilt."},

	{"already_exists", 409, "A resource with this value already exists.", "details name the field."},
	{"version_conflict", 409, "The resource has changed since it was read.", "details give the current version; read again and retry."},
	{"ambiguous", 409, "More than one resource matches.", "A short name refers to several resources; use the id."},
	{"table_id_ambiguous", 409, "More than one table has this id.",
		"The caller sees two live copies of the table, or changes domains of a table that is not the original."},
	{"last_admin", 409, "The owner of an organisation is always an administrator of it.",
		"The change would end the membership of the owner, or weaken the role. Transfer the organisation to another administrator first."},
	{"owns_organisations", 409, "The owner of organisations cannot delete the account.",
		"details name the organisations. Transfer them to other administrators, or delete them."},
	{"too_many_organisations", 409, "A person can own at most 20 organisations.",
		"Deleted organisations count until their records are removed. Transfer some to other owners."},
	{"default_workspace", 409, "The default workspace cannot be changed in this way.", "It always exists and everybody is a member."},
	{"workspace_in_use", 409, "The workspace still owns storage configurations.",
		"Attach them to other workspaces or delete them first. A configuration that was attached elsewhere counts until its undo window ends."},
	{"already_attached", 409, "The configuration is in this workspace already.", "Nothing was changed; an undo window stays open."},
	{"location_taken", 409, "The location overlaps that of another storage configuration.",
		"Locations may not equal, contain or lie in one another."},
	{"domain_taken", 409, "Another organisation has verified the e-mail domain.", "A verified domain belongs to one organisation."},
	{"domain_not_verified", 409, "The verification record of the e-mail domain was not found.",
		"The domain has no TXT record with the expected name and content. New records take time to spread; retry later."},
	{"sandbox_config", 409, "The storage configuration of the sandbox cannot be changed.",
		"The server makes it; the feature sandbox of the organisation switches it on and off."},
	{"table_state", 409, "The state of the table does not allow this.", "For example renaming a dropped table."},
	{"table_identity_changed", 409, "Another table is in the folder of this one.", "Confirm with adopt-identity before it is used again."},
	{"isolation_required", 409, "This table can only be read by a server with worker processes.",
		"The log of a remote table would be read inside the server, which a statement could end. Set LAKEWARDEN_ISOLATION=process."},
	{"table_vanished", 409, "The files of the table are gone.", "The folder holds no Delta log any more; restore it or drop the table."},
	{"table_log_broken", 409, "The log of the table cannot be read.",
		"A file of _delta_log is missing, damaged or contradicts another; details give the reason. Repair the table with the tool that wrote it."},
	{"data_file_missing", 409, "A file of the table is missing.",
		"The log names a data file or a file of deletion vectors that the storage does not have; details give the reason. If an older version is " +
			"read, a vacuum has most likely deleted the file: read a newer version. If the newest version is read, restore the file, or repair the " +
			"table with the tool that wrote it."},
	{"data_file_unreadable", 409, "A data file of the table cannot be read.",
		"A file is damaged, or does not hold what the table's columns say. details give the reason, the file and the column to callers who " +
			"see every row and column and may modify the table. A retry fails again: repair the file, or remove it from the table with the " +
			"tool that wrote it."},
	{"unsupported_table_feature", 409, "The table uses a feature that is not supported.", "details name the feature, or the reason."},
	{"partition_value_unreadable", 409, "A partition value of the table cannot be read.",
		"details name the column and the reason, unless a policy hides or masks columns of the table. Repair the table with the tool that " +
			"wrote it."},
	{"storage_read_only", 409, "The storage does not let this server write.",
		"Its credential may read only; details name the configuration. POST …/validate says what is missing."},
	{"table_exists", 409, "There is a table at this place already.", "The folder holds a Delta log."},
	{"commit_conflict", 409, "Another commit to the table got in the way.", "Nothing was written; retry."},
	{"protocol_changed", 409, "The protocol of the table changed during the operation.", "Nothing was written; retry."},
	{"concurrent_transaction", 409, "This transaction was committed by another request.", "The work is done already."},
	{"constraint_violation", 409, "Existing rows violate this rule.", "A rule cannot be set because existing rows break it."},
	{"column_in_use", 409, "Something depends on the column.", "details name the policies, constraints and keys that do."},
	{"vacuum_running", 409, "A vacuum or purge of the table is under way.",
		"Former versions are not restored, and the table is not purged, while files are deleted; retry after it."},
	{"table_moving", 409, "The table is being moved.",
		"Its rows can be read but not changed until it is at its new place. Nothing was written; look its name up again and retry."},
	{"move_under_way", 409, "A move is under way here.",
		"A move of objects uses the storage configuration, or this folder or one around or in it. Retry when it has ended."},
	{"table_busy", 409, "Writes to a table did not end in time.",
		"A move waits half a minute for writes, vacuums and optimisations of its tables. Nothing was moved; retry."},
	{"destination_not_empty", 409, "The destination of the move is not empty.",
		"A move never replaces objects or tables: choose an empty folder. Nothing was moved."},
	{"source_changed", 409, "Another program wrote to the source during the move.",
		"details name the tables, and say whether they are at the source or at the destination now. No row was lost."},
	{"table_not_movable", 409, "A table cannot be moved.",
		"details name the tables and the reasons: absolute paths of files, or a shallow clone. Nothing was moved."},
	{"key_conflict", 409, "A row with this key exists.", "Nothing was written."},
	{"value_in_use", 409, "The value is in use.",
		"Rows have the value of a domain that is to be deleted, or renamed without them; details have the number of rows for callers who see " +
			"all of them. Nothing has changed."},
	{"outside_values", 409, "Rows are outside the domain.",
		"The domain was to be enforced on existing rows; details have their number. Nothing has changed."},
	{"domain_type_mismatch", 409, "The column's domain is of another kind.", "The operation does not fit the kind of domain."},
	{"domain_shared", 409, "The column's domain is shared.",
		"Its values are changed below /v1/organisations/{org_id}/domains, for all of its columns."},
	{"domain_in_use", 409, "Columns use the domain.", "GET the domain for its dependants; give these columns other domains first."},
	{"domain_deleted", 409, "The column's domain was deleted.",
		"Its shared domain was deleted while the table was dropped or vanished. Give the column another domain, or remove it, before the " +
			"column is written to."},
	{"value_change_running", 409, "A value of the domain is being changed.",
		"The rows with a value are being rewritten. Retry when that is done."},
	{"writes_in_progress", 409, "Writes to the table did not end in time.",
		"They were checked before the change of the domain, which was undone. Retry."},
	{"table_in_use", 409, "Domains take their values from the table.",
		"details name the columns that the caller sees. Give these columns other domains first."},
	{"source_not_shared", 409, "The table with the allowed values is not visible to everybody.",
		"A domain takes its values from a table that is no longer visible to everybody who sees the column's table. Give the column another " +
			"domain, or share the table."},
	{"credential_not_usable", 409, "The credential is revoked or has expired.",
		"The API key that is to be rotated has ended, or the API key, service account or client that a credential is for. Create a new one."},
	{"policy_not_usable", 409, "A policy of the table cannot be applied.", "Nothing is readable until the policy is corrected."},
	{"query_cancelled", 409, "The query was cancelled.", "While it ran, the API key was revoked or expired, the user was removed or got " +
		"another role or other attributes, or a table that it reads was removed, left the workspaces of the user or got other policies, " +
		"or a vacuum deleted files of the version that it reads. A cancelled write has written nothing."},
	{"operation_running", 409, "The operation has not ended.", "Its result is there when its state is succeeded; cancel it to end it now."},
	{"operation_failed", 409, "The operation did not succeed.",
		"It failed or was cancelled, so it has no result; GET /v1/operations/{id} says why."},
	{"result_stale", 409, "The result was made under rules that have changed.",
		"Run the query again. A vacuum that deletes files of the version that was read has the same effect."},
	{"undo_window_expired", 409, "The time to undo this is over.", "The reply to the attach says until when it could be undone."},
	{"undo_window_closed", 409, "A later change prevents undoing this.",
		"The configuration was attached again, the attach was undone before, or there was none."},
	{"provider_link_required", 409, "The owner has to link the storage account first.",
		"The member never linked the provider, has left the organisation, or the provider has refused the link since. A shared configuration " +
			"can be taken over by another member."},
	{"provider_app_rejected", 409, "The provider refuses the application of the organisation.",
		"Its client id, secret or tenant is wrong: register it again."},

	{"invalid_field", 422, "The request has invalid fields.", "details name each field and its rule."},
	{"reference_not_shared", 422, "The table with the values is not visible to everybody.",
		"A domain may take its values only from a table that is visible to everybody who sees the column's table."},
	{"domain_cycle", 422, "The domain depends on its own column.",
		"Its values would come from the column itself, through the tables and parent columns of other domains."},
	{"issuer_refused", 422, "The identity provider cannot be used.", "details say what is wrong with the issuer or its discovery document."},
	{"invalid_policy", 422, "The policy is not valid.", "details name the field, or line and column of the text."},
	{"type_not_supported", 422, "The column's type does not support this.", "An operator or rule does not exist for the type."},
	{"invalid_schema", 422, "The table schema is not valid.", "A type, name or partitioning is not usable."},
	{"invalid_value", 422, "A value does not fit its column.", "A value does not have the form of its type."},
	{"too_many_rows", 422, "The request has more rows than one write may have.",
		"details and GET /v1/limits name the limit; send several requests. Nothing was written."},
	{"rule_violation", 422, "A row breaks a rule of the table.",
		"NOT NULL, a CHECK constraint or the domain of a column; details name the first hundred rows. Nothing was written."},
	{"duplicate_key", 422, "Two rows of the request have one key.", "details name the first hundred rows. Nothing was written."},
	{"quota_exceeded", 422, "The tables in the sandbox would become too large.",
		"All tables that one person, or all service accounts together, created in the sandbox have one quota, 1 GiB by default. Nothing was " +
			"written; delete rows or drop a table, which counts until its files are deleted an hour later."},
	{"invalid_property", 422, "A table property is not valid.", "The property is unknown or has a bad value."},
	{"value_error", 422, "A value made the query fail.", "A cast, an overflow or a bad argument met a row; details name the field."},
	{"binary_text_invalid", 422, "A text that is compared with or cast to a binary value does not have the form of one.",
		"A binary value is written as a text with its ASCII characters, and with \\xAB for a backslash and every byte beyond ASCII; " +
			"encode() returns the UTF-8 bytes of a text, from_base64() those of base64. details name the field."},
	{"engine_cannot", 422, "The engine cannot run the statement.",
		"The engine has a defect that the statement, or a condition or expression of the request, meets each time. " +
			"Write it in another form; details name the field."},
	{"query_timeout", 422, "The query ran longer than allowed.", "Raise timeout_ms or ask for less."},
	{"query_memory_exhausted", 422, "The query needs more memory than it may use.", "Let one statement process less data."},
	{"result_too_large", 422, "The result is larger than may be kept.",
		"Ask for less, set row_limit, or delete operations whose results are not needed."},
	{"idempotency_key_reused", 422, "The idempotency key was used for another request.", "Use a new key for each request."},
	{"invalid_location", 422, "The location cannot be used.", "A local root must be a plain absolute path below an allowed root."},
	{"storage_not_usable", 422, "The storage is not safe for tables.",
		"It does not honour put-if-absent or does not return what was written."},
	{"wrong_kind", 422, "The storage configuration is of another kind.", "The credential does not fit the configuration."},
	{"provider_refused", 422, "The provider refused the link.",
		"The person did not agree, the code was used before, or the provider gives no lasting access. Start the link again."},
	{"oauth_config_has_no_secret", 422, "The storage configuration holds no secret.", "A delegated configuration has nothing to rotate."},
	{"credential_rejected", 422, "The storage refused the credential.", "The old credential stays in use."},

	{"rate_limited", 429, "Too many requests.", "Wait as long as Retry-After says."},
	{"too_many_refusals", 429, "Too many writes were refused because of keys or references.",
		"The user does not see all rows that these writes were checked against. Wait as long as Retry-After says; see docs/policies.md."},

	{"internal_error", 500, "Something went wrong on our side.", "Report the request id."},

	{"unavailable", 503, "The service cannot answer now.", "Retry after a moment."},
	{"server_busy", 503, "The service is working at its limit.", "The queue is full or memory is short."},
	{"key_service_unavailable", 503, "The keys of stored secrets cannot be used now.",
		"The key service of the server does not answer; retry after a moment."},
	{"identity_provider_unavailable", 503, "The identity provider does not answer.", "Retry after a moment."},
	{"resolver_unavailable", 503, "The records of the e-mail domain cannot be read.", "The resolver does not answer; retry after a moment."},
	{"storage_unavailable", 503, "The storage cannot be reached.", "The object store refuses, throttles or does not answer."},
	{"provider_unavailable", 503, "The provider cannot be used now.", "It does not answer, or its answer cannot be used."},
	{"outcome_unknown", 503, "It is not known whether the change was made.", "Read before you retry, or retry with the same Idempotency-Key."},
	{"engine_failed", 503, "The query engine failed.", "Retry; the session was replaced."},
	{"operation_lost", 503, "The server that ran the operation is gone.",
		"Only in an operation: the replica ended before the work did. Start it again."},

	{"method_not_allowed", 405, "", "Sent without a body; Allow lists the methods."},
	{"payload_too_large", 413, "", "Sent without a body; GET /v1/limits has the limits."},
}

var byName = func() map[string]Code {
	m := make(map[string]Code, len(Codes))
	for _, c := range Codes {
		m[c.Name] = c
	}
	return m
}()

// clientClosed is not in the table, because no client receives it.
var clientClosed = Code{Name: "client_closed", Status: StatusClientClosed}
