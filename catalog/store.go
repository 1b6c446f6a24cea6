package catalog

import (
	"context"
	"encoding/json"
	"time"
)

// Store is the catalog. It is composed of small interfaces so that a caller can depend
// on just the methods it uses.
//
// For all methods: a returned record is a copy; implementations are safe for
// concurrent use; a method either takes effect as a whole or not at all; input
// is validated first and gives [FieldErrors]; an unreachable database gives
// [ErrUnavailable]; the context's error is returned as it is. Unless a method
// says otherwise it is not idempotent, and a record of another organisation
// gives [ErrNotFound].
//
// expectedVersion is the version that the caller has seen. [AnyVersion] skips
// the comparison; a stale one gives [*VersionConflictError] and changes
// nothing.
type Store interface {
	Organisations
	Users
	Memberships
	Workspaces
	StorageConfigs
	Sharing
	Sandboxes
	Tables
	Policies
	Constraints
	Domains
	APIKeys
	Operations
	WriteLeases
	Moves
	Publications
	WriteKeys
	Identity
	Analyses
	Audit
	Epochs
	FileDeletions
	Commits
}

// AnyVersion as an expectedVersion accepts any current version.
const AnyVersion int64 = 0

// Workspaces stores workspaces and their members.
type Workspaces interface {
	// CreateWorkspace creates a workspace. It returns [ErrExists] with field name, and
	// [ErrNotFound] if the creator is not a member of the organisation.
	CreateWorkspace(ctx context.Context, workspace NewWorkspace) (Workspace, error)
	Workspace(ctx context.Context, org OrgID, workspace WorkspaceID) (Workspace, error)
	DefaultWorkspace(ctx context.Context, org OrgID) (Workspace, error)
	// ListWorkspaces lists workspaces, the oldest (the default one) first.
	ListWorkspaces(ctx context.Context, org OrgID, filter WorkspaceFilter, page Page) (List[Workspace], error)
	// UpdateWorkspace changes fields. It returns [ErrExists] with field name.
	UpdateWorkspace(ctx context.Context, org OrgID, workspace WorkspaceID, expectedVersion int64, change WorkspaceChange) (Workspace, error)
	// DeleteWorkspace removes a workspace and its memberships, and revokes the keys
	// that are limited to it. It returns [ErrDefaultWorkspace] or [ErrWorkspaceInUse].
	DeleteWorkspace(ctx context.Context, org OrgID, workspace WorkspaceID, expectedVersion int64) error
	// SetWorkspaceMember adds a member of the organisation or changes the role.
	// Idempotent. It returns [ErrDefaultWorkspace] for the default workspace.
	SetWorkspaceMember(ctx context.Context, org OrgID, workspace WorkspaceID, user UserID, role Role) (WorkspaceMember, error)
	// RemoveWorkspaceMember removes a member. It returns [ErrDefaultWorkspace] for the
	// default workspace.
	RemoveWorkspaceMember(ctx context.Context, org OrgID, workspace WorkspaceID, user UserID) error
	// ListWorkspaceMembers lists members by e-mail address.
	ListWorkspaceMembers(ctx context.Context, org OrgID, workspace WorkspaceID, page Page) (List[WorkspaceMember], error)
	// WorkspaceRole returns the member's role in the workspace itself (in the default
	// one, the organisation role). It returns [ErrNotFound] for a user who is not a
	// member of it.
	WorkspaceRole(ctx context.Context, org OrgID, workspace WorkspaceID, user UserID) (Role, error)
}

// StorageConfigs stores storage configurations.
type StorageConfigs interface {
	// CreateStorageConfig creates a configuration. It returns [ErrLocationTaken], or
	// [ErrNotFound] if the owner is not a member or the workspace does not belong to
	// the organisation.
	CreateStorageConfig(ctx context.Context, config NewStorageConfig) (StorageConfig, error)
	StorageConfig(ctx context.Context, viewer Viewer, config ConfigID) (StorageConfig, error)
	// StorageConfigBySchema resolves cfg_<id> in either form, or a slug. It returns
	// [ErrAmbiguous] if the viewer sees several configurations with the slug.
	StorageConfigBySchema(ctx context.Context, viewer Viewer, schema string) (StorageConfig, error)
	// ListStorageConfigs lists visible configurations, oldest first.
	ListStorageConfigs(ctx context.Context, viewer Viewer, page Page) (List[StorageConfig], error)
	UpdateStorageConfig(ctx context.Context, viewer Viewer, config ConfigID, expectedVersion int64, change StorageConfigChange) (StorageConfig,
		error)
	// StorageSecret returns the stored credential, for the server itself. It returns
	// [ErrNotFound] if the configuration has none.
	StorageSecret(ctx context.Context, org OrgID, config ConfigID) (StorageSecret, error)
	// ReplaceStorageSecret replaces the stored credential and raises the
	// configuration's version, so that clients cached with the old credential are
	// recognised as outdated.
	ReplaceStorageSecret(ctx context.Context, viewer Viewer, config ConfigID, expectedVersion int64, secret StorageSecret) (StorageConfig,
		error)
	// DeleteStorageConfig removes a configuration and the registrations of its tables,
	// including tombstones. It does not change data or policies. It returns
	// [ErrMoveUnderWay].
	DeleteStorageConfig(ctx context.Context, viewer Viewer, config ConfigID, expectedVersion int64) error
}

// Tables stores the registrations of tables.
type Tables interface {
	// RegisterTable registers a table that was just created, and replaces a tombstone
	// at its path. It returns [ErrExists] with field path or name, and [ErrMoveUnderWay].
	RegisterTable(ctx context.Context, viewer Viewer, table NewTable) (Table, error)
	// SyncTables updates the registrations at the paths of a discovery to match it; other
	// registrations do not change, nor do those at places of moves under way. A location
	// whose Delta id has changed becomes identity_changed if its old id has rules or is
	// marked governed, otherwise it takes the new id. Idempotent.
	SyncTables(ctx context.Context, viewer Viewer, config ConfigID, discovery Discovery) (DiscoveryResult, error)
	// Table returns a registration in any state.
	Table(ctx context.Context, viewer Viewer, table TableID) (LocatedTable, error)
	// ListTables lists visible tables by name.
	ListTables(ctx context.Context, viewer Viewer, filter TableFilter, page Page) (List[LocatedTable], error)
	// ResolveTables looks up many names in one statement and returns the results in the
	// order of the names. The error concerns the call as a whole. An error of one name
	// is in its result.
	ResolveTables(ctx context.Context, viewer Viewer, names []TableName) ([]Resolved, error)
	// ResolveDelta finds the one live table with a Delta id that the viewer sees. It
	// returns [ErrAmbiguous] if there are several.
	ResolveDelta(ctx context.Context, viewer Viewer, id DeltaID) (LocatedTable, error)
	// RenameTable gives a table a name that survives a move. It returns [ErrExists]
	// with field name, and [ErrTableState] for a dropped table.
	RenameTable(ctx context.Context, viewer Viewer, table TableID, expectedVersion int64, name string) (LocatedTable, error)
	// DropTable replaces the table by a tombstone. It returns [ErrNotFound] for a
	// dropped table.
	DropTable(ctx context.Context, viewer Viewer, table TableID, expectedVersion int64) error
	// PurgeTable is DropTable for a table whose files were deleted. It also removes the
	// domains of its columns, unless the table is registered elsewhere, too.
	PurgeTable(ctx context.Context, viewer Viewer, table TableID, expectedVersion int64) error
	// AdoptIdentity accepts the new Delta id of an identity_changed table and makes it
	// live. With keepRules the rules of the previous id are copied to the new one, on
	// behalf of by. The originals remain, so that the previous table is still governed
	// if it reappears elsewhere. It returns [ErrTableState] in any other state, and
	// [ErrDomainCycle] if the rules would make a column depend on itself.
	AdoptIdentity(ctx context.Context, viewer Viewer, table TableID, expectedVersion int64, keepRules bool, by UserID) (LocatedTable, error)
}

// Policies stores policies and their history.
type Policies interface {
	CreatePolicy(ctx context.Context, policy NewPolicy) (Policy, error)
	Policy(ctx context.Context, org OrgID, policy PolicyID) (Policy, error)
	// ListPolicies lists policies, oldest first.
	ListPolicies(ctx context.Context, org OrgID, filter PolicyFilter, page Page) (List[Policy], error)
	// UpdatePolicy replaces the whole content. expectedVersion is required:
	// [AnyVersion] gives [FieldErrors].
	UpdatePolicy(ctx context.Context, org OrgID, policy PolicyID, expectedVersion int64, spec PolicySpec, by UserID) (Policy, error)
	// DeletePolicy removes a policy and retains its history. expectedVersion is
	// required.
	DeletePolicy(ctx context.Context, org OrgID, policy PolicyID, expectedVersion int64, by UserID) error
	// PolicyHistory lists revisions, newest first, also of a deleted policy.
	PolicyHistory(ctx context.Context, org OrgID, policy PolicyID, page Page) (List[PolicyRevision], error)
	// EnabledPolicies returns every enabled policy that concerns one of the tables or
	// all tables, in one statement, ordered by id. It is for enforcement; the texts are
	// not for clients.
	EnabledPolicies(ctx context.Context, org OrgID, tables []DeltaID) ([]Policy, error)
	// DeletedPolicies returns the last revision about one table of every policy that
	// was deleted or moved to another table while it was enabled. The revisions are
	// ordered by the time of that change, which At holds. Policies that were changed to
	// apply to every table, or moved back, are not included. Like EnabledPolicies, it
	// is for enforcement.
	DeletedPolicies(ctx context.Context, org OrgID, table DeltaID) ([]PolicyRevision, error)
}

// Constraints stores CHECK constraints of tables. They refer to the table's Delta id,
// like policies, and make a table governed as policies do: see [Tables.SyncTables] and
// [Tables.AdoptIdentity].
type Constraints interface {
	// AddConstraints adds all or none. It returns [ErrExists] with field
	// constraints[<i>].name.
	AddConstraints(ctx context.Context, viewer Viewer, table TableID, constraints []NewConstraint, by UserID) error
	// Constraints returns the constraints of a table ordered by name, for enforcement
	// and for callers who see the table.
	Constraints(ctx context.Context, org OrgID, table DeltaID) ([]Constraint, error)
	// DeleteConstraint removes a constraint by name, regardless of case. It returns
	// [ErrNotFound].
	DeleteConstraint(ctx context.Context, viewer Viewer, table TableID, name string) error
	// RememberedRules returns what is known of the rules in the log of a table that has a
	// Delta id, or the zero value. A registration keeps it through moves, and copies of a
	// table have their own.
	RememberedRules(ctx context.Context, table TableID, id DeltaID) (RememberedRules, error)
	// RememberRules replaces it, unless the rules of a later version are known. It does
	// not raise the epoch.
	RememberRules(ctx context.Context, rules RememberedRules) error
}

// APIKeys stores API keys.
type APIKeys interface {
	// CreateAPIKey creates a key. It returns [ErrExists] with field key_prefix if the
	// prefix is taken (make another key and retry), [ErrNotFound] if the owner is not a
	// member of the organisation or of the workspace, [FieldErrors] for AllWorkspaces with
	// a workspace other than the default one, [ErrOutlivesMaker] for an end later than the
	// maker's or the service account's, and [ErrRevoked] if one of these has ended.
	CreateAPIKey(ctx context.Context, key NewAPIKey) (APIKey, error)
	// APIKeyByPrefix finds a key in any organisation, for authentication.
	// Revoked and expired keys are returned too.
	APIKeyByPrefix(ctx context.Context, prefix string) (APIKey, error)
	APIKey(ctx context.Context, org OrgID, key KeyID) (APIKey, error)
	// ListAPIKeys lists keys, oldest first.
	ListAPIKeys(ctx context.Context, org OrgID, filter APIKeyFilter, page Page) (List[APIKey], error)
	// ListEndings returns what ends with a key, at most [MaxEndings].
	ListEndings(ctx context.Context, org OrgID, key KeyID) ([]Ending, error)
	// TakeUnboundCredentials counts what an earlier release made in each organisation. Each
	// credential is counted in one call only.
	TakeUnboundCredentials(ctx context.Context) ([]UnboundCredentials, error)
	// RevokeAPIKey revokes a key immediately, and all that ends with it. Idempotent: the
	// time of the first call is retained.
	RevokeAPIKey(ctx context.Context, org OrgID, key KeyID) (APIKey, error)
	// RotateAPIKey creates and returns a successor of a key, which then expires after
	// grace at the latest. The successor has the user, organisation and workspaces of
	// the old key and expires no later than the old key would have, nor than its maker.
	// What would have ended with the old key ends with the successor. It returns
	// [ErrRevoked] for a revoked or expired key, and [ErrExists] with field successor
	// for a key that has a successor.
	RotateAPIKey(ctx context.Context, org OrgID, key KeyID, successor NewAPIKey, grace time.Duration) (APIKey, error)
	// TouchAPIKeys records a use of each key. A time before the recorded one changes
	// nothing, and neither does a use of a key that is being changed. It does not raise
	// the epoch.
	TouchAPIKeys(ctx context.Context, at time.Time, keys ...KeyID) error
}

// Operations stores long-running work. No method raises the epoch.
//
// Methods with a runner parameter are for the replica of that name. They change only
// operations that it runs and that have not ended, and return [ErrNotFound] for others.
// A replica therefore cannot resume an operation that was ended because its heartbeats
// stopped.
type Operations interface {
	// CreateOperation creates an operation. It returns [ErrNotFound] if the user is not
	// a member.
	CreateOperation(ctx context.Context, operation NewOperation) (Operation, error)
	Operation(ctx context.Context, org OrgID, operation OperationID) (Operation, error)
	// ListOperations lists operations, newest first.
	ListOperations(ctx context.Context, org OrgID, filter OperationFilter, page Page) (List[Operation], error)
	// CancelOperation requests the runner to stop. Idempotent. An ended operation is
	// not changed.
	CancelOperation(ctx context.Context, org OrgID, operation OperationID) (Operation, error)
	// OperationUsage sums up the resources that an organisation's operations use.
	OperationUsage(ctx context.Context, org OrgID) (OperationUsage, error)

	// StartOperation turns queued into running.
	StartOperation(ctx context.Context, runner string, operation OperationID) error
	// ReportOperation records progress.
	ReportOperation(ctx context.Context, runner string, operation OperationID, progress Progress) error
	// ReserveOperation reserves bytes that an operation is about to store, unless those
	// of all operations of its organisation would then exceed most, and reports whether
	// it did. A later call replaces an earlier one. The end of the operation replaces
	// the reservation with the stored size.
	ReserveOperation(ctx context.Context, runner string, operation OperationID, bytes, most int64) (bool, error)
	// FinishOperation ends an operation.
	FinishOperation(ctx context.Context, runner string, operation OperationID, outcome OperationOutcome) error
	// BeatOperations records a heartbeat for all operations of a runner.
	BeatOperations(ctx context.Context, runner string) error
	// CancelledOperations lists the operations that a runner should stop: their
	// cancellation was requested, or their organisation was deleted.
	CancelledOperations(ctx context.Context, runner string) ([]OperationID, error)

	// LoseOperations ends the operations without a heartbeat since the given time, with
	// the given outcome, and returns their number.
	LoseOperations(ctx context.Context, since time.Time, outcome OperationOutcome) (int64, error)
	// ExpiredOperations lists up to limit operations of all organisations that have
	// expired, or that have ended and whose organisation was deleted.
	ExpiredOperations(ctx context.Context, limit int) ([]Operation, error)
	// ForgetOperation clears the result, the private part and the sizes of an ended
	// operation, after the caller has removed the data outside the catalog. The record
	// remains. Idempotent. It returns [ErrOperationLive].
	ForgetOperation(ctx context.Context, org OrgID, operation OperationID) (Operation, error)
	// DeleteOperation removes the record of an ended operation. Idempotent. It returns
	// [ErrOperationLive].
	DeleteOperation(ctx context.Context, org OrgID, operation OperationID) error
}

// WriteLeases records the writes and vacuums of tables that are in progress on any
// replica. A write creates its files in the table's folder before a version refers to
// them.
//
// A restore begins its lease before it checks for vacuums, and a vacuum begins its
// lease before it checks for writes. So if two begin at the same time, at least one of
// them sees the other.
type WriteLeases interface {
	// BeginWrite records that a write to a table begins now, before its first file is
	// created or deleted.
	BeginWrite(ctx context.Context, write NewWrite) (WriteLeaseID, error)
	// RenewWrite renews a lease. It returns [ErrNotFound] if the lease was removed: the
	// files of the write may have been deleted, so it must not be committed.
	RenewWrite(ctx context.Context, lease WriteLeaseID) error
	// DeleteUnder notes in a lease that its holder deletes files. A lease has one such note,
	// which a further call replaces. If the lease is lost, [WriteLeases.EndWritesOf] and
	// [WriteLeases.ForgetWrites] record the deletion as [FileDeletions.RecordFileDeletion]
	// does. It returns [ErrNotFound] if the lease was removed.
	DeleteUnder(ctx context.Context, lease WriteLeaseID, deletion FileDeletion) error
	// EndWrite ends a lease, after its holder has recorded what it deleted. Idempotent.
	EndWrite(ctx context.Context, lease WriteLeaseID) error
	// EndWritesOf ends the leases, in all organisations, of a holder that is known to
	// have ended, and returns their number. The empty name matches no lease.
	EndWritesOf(ctx context.Context, holder string) (int64, error)
	// OldestWrite returns the time from which files of a table are protected by the
	// writes that were renewed since the given time: the start of the oldest one, the
	// Unix epoch for a restore, or the zero time if there are none.
	OldestWrite(ctx context.Context, org OrgID, table DeltaID, since time.Time) (time.Time, error)
	// VacuumUnderWay reports whether a vacuum of a table is in progress whose lease was
	// renewed since the given time and is not the excepted one, which may be empty.
	VacuumUnderWay(ctx context.Context, org OrgID, table DeltaID, except WriteLeaseID, since time.Time) (bool, error)
	// ForgetWrites removes the leases, of all organisations, that were not renewed
	// since the given time, and returns their number.
	ForgetWrites(ctx context.Context, since time.Time) (int64, error)
}

// WriteKeys stores the idempotency keys of requests that change rows, so that a
// repeated request gets the stored reply and is not executed again.
type WriteKeys interface {
	// ClaimWriteKey stores a fingerprint under the hash of a key, or returns the record
	// of an earlier request.
	ClaimWriteKey(ctx context.Context, org OrgID, key, fingerprint string) (WriteKey, error)
	// SettleWriteKey stores the reply of a request that has succeeded. It returns
	// [ErrNotFound] if the key was removed.
	SettleWriteKey(ctx context.Context, org OrgID, key string, reply json.RawMessage) error
	// ForgetWriteKeys removes the keys, of all organisations, that were claimed before
	// the given time, and returns their number.
	ForgetWriteKeys(ctx context.Context, before time.Time) (int64, error)
}

// Audit stores the audit log. Entries are never changed.
type Audit interface {
	// AppendAudit adds entries. An empty ID or time is filled in.
	AppendAudit(ctx context.Context, entries ...AuditEntry) error
	// ListAudit lists entries of an organisation, newest first.
	ListAudit(ctx context.Context, org OrgID, filter AuditFilter, page Page) (List[AuditEntry], error)
}

// Epochs reports changes that affect visibility or authorisation: of keys, roles,
// attributes, policies, configurations, tables, workspaces, organisations. The epoch
// only grows. A reader that sees an epoch sees every change up to it.
type Epochs interface {
	// Epoch returns the current epoch from the database.
	Epoch(ctx context.Context) (uint64, error)
	// Watch sends the epoch each time it was confirmed, changed or not, at least once a
	// second while the database responds. Only the newest value is retained for a slow
	// receiver. If no value arrives, the epoch could not be confirmed. The channel is
	// closed when ctx ends or the store is closed.
	Watch(ctx context.Context) <-chan uint64
}

// Commits notifies replicas of new table versions, so that they need not wait for their
// next refresh. Announcements are not stored.
type Commits interface {
	// AnnounceCommit notifies the watches of all other replicas that the table at a
	// path has a new version. It does nothing on a database that only one process uses.
	AnnounceCommit(ctx context.Context, table CommittedTable) error
	// WatchCommits sends the announcements. The zero value means any table. It is sent
	// first, and again whenever announcements may have been missed. The channel is
	// closed when ctx ends or the store is closed. The caller must read it until then.
	WatchCommits(ctx context.Context) <-chan CommittedTable
}

// CommittedTable identifies a table with a new version.
type CommittedTable struct {
	Config ConfigID `json:"config"`
	Path   string   `json:"path"`
}
