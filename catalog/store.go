package catalog

import (
	"context"
	"encoding/json"
	"time"
)

// Store keeps the catalog. It is composed of small roles so that a caller can
// ask for just what it uses.
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
	Tables
	Policies
	Constraints
	APIKeys
	Operations
	WriteLeases
	WriteKeys
	Audit
	Epochs
	Commits
}

// AnyVersion as an expectedVersion accepts whatever version is there.
const AnyVersion int64 = 0

// Organisations keeps tenants.
type Organisations interface {
	// CreateOrganisation makes an organisation, its default workspace and
	// the owner's membership as an administrator. [ErrNotFound] when the
	// owner is no user.
	CreateOrganisation(ctx context.Context, org NewOrganisation) (Organisation, error)
	// Organisation returns a living organisation.
	Organisation(ctx context.Context, org OrgID) (Organisation, error)
	// ListOrganisations lists living organisations, oldest first.
	ListOrganisations(ctx context.Context, page Page) (List[Organisation], error)
	// UpdateOrganisation changes fields. A new owner who is no administrator
	// gives [FieldErrors].
	UpdateOrganisation(ctx context.Context, org OrgID, expectedVersion int64, change OrganisationChange) (Organisation, error)
	// DeleteOrganisation marks an organisation as deleted: nothing of it is
	// found any more, except by [Audit]. Its configurations' locations are
	// free.
	DeleteOrganisation(ctx context.Context, org OrgID, expectedVersion int64) error
}

// Users keeps people, across organisations.
type Users interface {
	// CreateUser makes a user; [ErrExists] with field email.
	CreateUser(ctx context.Context, user NewUser) (User, error)
	User(ctx context.Context, user UserID) (User, error)
	// UserByEmail finds a user by address, in any case.
	UserByEmail(ctx context.Context, email string) (User, error)
	// UpdateUser changes fields; [ErrExists] with field email.
	UpdateUser(ctx context.Context, user UserID, expectedVersion int64, change UserChange) (User, error)
}

// Memberships keeps who belongs to an organisation, as what, and with which
// policy attributes.
type Memberships interface {
	// AddMember makes a user a member; [ErrExists] with field user_id.
	AddMember(ctx context.Context, org OrgID, user UserID, role Role) (Membership, error)
	// Membership is one indexed read and is made for every request.
	Membership(ctx context.Context, org OrgID, user UserID) (Membership, error)
	// ListMembers lists members by e-mail address.
	ListMembers(ctx context.Context, org OrgID, page Page) (List[Membership], error)
	// SetMemberRole changes a role; [ErrLastAdmin] when the member is the
	// owner or the last administrator and the role is a weaker one.
	SetMemberRole(ctx context.Context, org OrgID, user UserID, role Role) (Membership, error)
	// RemoveMember ends a membership, with the user's places in workspaces,
	// and revokes the user's keys. Personal configurations stay, unseen.
	// [ErrLastAdmin] for the owner and the last administrator.
	RemoveMember(ctx context.Context, org OrgID, user UserID) error
	// ReplaceAttributes sets all policy attributes of a member. Idempotent.
	ReplaceAttributes(ctx context.Context, org OrgID, user UserID, attributes map[string]string) (Membership, error)
}

// Workspaces keeps workspaces and their members.
type Workspaces interface {
	// CreateWorkspace makes a workspace; [ErrExists] with field name,
	// [ErrNotFound] when the creator is no member of the organisation.
	CreateWorkspace(ctx context.Context, workspace NewWorkspace) (Workspace, error)
	Workspace(ctx context.Context, org OrgID, workspace WorkspaceID) (Workspace, error)
	DefaultWorkspace(ctx context.Context, org OrgID) (Workspace, error)
	// ListWorkspaces lists workspaces, the oldest (the default one) first.
	ListWorkspaces(ctx context.Context, org OrgID, filter WorkspaceFilter, page Page) (List[Workspace], error)
	// UpdateWorkspace changes fields; [ErrExists] with field name.
	UpdateWorkspace(ctx context.Context, org OrgID, workspace WorkspaceID, expectedVersion int64, change WorkspaceChange) (Workspace, error)
	// DeleteWorkspace removes a workspace and its memberships; keys limited
	// to it are revoked. [ErrDefaultWorkspace], [ErrWorkspaceInUse].
	DeleteWorkspace(ctx context.Context, org OrgID, workspace WorkspaceID, expectedVersion int64) error
	// SetWorkspaceMember adds a member of the organisation or changes the
	// role. Idempotent. [ErrDefaultWorkspace] for the default one.
	SetWorkspaceMember(ctx context.Context, org OrgID, workspace WorkspaceID, user UserID, role Role) (WorkspaceMember, error)
	// RemoveWorkspaceMember removes a member; [ErrDefaultWorkspace].
	RemoveWorkspaceMember(ctx context.Context, org OrgID, workspace WorkspaceID, user UserID) error
	// ListWorkspaceMembers lists members by e-mail address.
	ListWorkspaceMembers(ctx context.Context, org OrgID, workspace WorkspaceID, page Page) (List[WorkspaceMember], error)
	// WorkspaceRole returns the member's role in the workspace itself (in
	// the default one, the organisation role). [ErrNotFound] for a user who
	// is not a member of it.
	WorkspaceRole(ctx context.Context, org OrgID, workspace WorkspaceID, user UserID) (Role, error)
}

// StorageConfigs keeps storage configurations.
type StorageConfigs interface {
	// CreateStorageConfig makes a configuration. [ErrLocationTaken];
	// [ErrNotFound] when the owner is no member or the workspace is none of
	// the organisation.
	CreateStorageConfig(ctx context.Context, config NewStorageConfig) (StorageConfig, error)
	StorageConfig(ctx context.Context, viewer Viewer, config ConfigID) (StorageConfig, error)
	// StorageConfigBySchema resolves cfg_<id> in either form, or a slug.
	// [ErrAmbiguous].
	StorageConfigBySchema(ctx context.Context, viewer Viewer, schema string) (StorageConfig, error)
	// ListStorageConfigs lists visible configurations, oldest first.
	ListStorageConfigs(ctx context.Context, viewer Viewer, page Page) (List[StorageConfig], error)
	UpdateStorageConfig(ctx context.Context, viewer Viewer, config ConfigID, expectedVersion int64, change StorageConfigChange) (StorageConfig,
		error)
	// StorageSecret returns the stored credential, for the server itself.
	// [ErrNotFound] when the configuration holds none.
	StorageSecret(ctx context.Context, org OrgID, config ConfigID) (StorageSecret, error)
	// ReplaceStorageSecret puts another credential in the place of the
	// stored one, and raises the configuration's version: whoever remembers
	// a client of the old credential knows by that.
	ReplaceStorageSecret(ctx context.Context, viewer Viewer, config ConfigID, expectedVersion int64, secret StorageSecret) (StorageConfig,
		error)
	// DeleteStorageConfig removes a configuration and the registrations of
	// its tables, tombstones included. Data and policies are left alone.
	DeleteStorageConfig(ctx context.Context, viewer Viewer, config ConfigID, expectedVersion int64) error
}

// Tables keeps the registrations of tables.
type Tables interface {
	// RegisterTable registers a table that was just created, and replaces a
	// tombstone at its path. [ErrExists] with field path or name.
	RegisterTable(ctx context.Context, viewer Viewer, table NewTable) (Table, error)
	// SyncTables brings the registrations of one configuration into line
	// with what was found. A place whose Delta id is another one becomes
	// identity_changed when its old id has rules or is marked governed,
	// else it just takes the new id. Idempotent.
	SyncTables(ctx context.Context, viewer Viewer, config ConfigID, discovery Discovery) (DiscoveryResult, error)
	// Table returns a registration in any state.
	Table(ctx context.Context, viewer Viewer, table TableID) (LocatedTable, error)
	// ListTables lists visible tables by name.
	ListTables(ctx context.Context, viewer Viewer, filter TableFilter, page Page) (List[LocatedTable], error)
	// ResolveTables looks up many names in one statement; the answers are in
	// the order of the names. The error is about the call as a whole; what
	// is wrong with one name is in its answer.
	ResolveTables(ctx context.Context, viewer Viewer, names []TableName) ([]Resolved, error)
	// ResolveDelta finds the one live table with a Delta id that the viewer
	// sees; [ErrAmbiguous] when there are more.
	ResolveDelta(ctx context.Context, viewer Viewer, id DeltaID) (LocatedTable, error)
	// RenameTable gives a table a name that survives a move. [ErrExists]
	// with field name, [ErrTableState] for a dropped table.
	RenameTable(ctx context.Context, viewer Viewer, table TableID, expectedVersion int64, name string) (LocatedTable, error)
	// DropTable leaves a tombstone. [ErrNotFound] for a dropped table.
	DropTable(ctx context.Context, viewer Viewer, table TableID, expectedVersion int64) error
	// AdoptIdentity accepts the new Delta id of an identity_changed table
	// and makes it live. With keepRules the rules of the previous id are
	// copied to the new one, in the name of by; the originals stay, so that
	// the previous table stays governed wherever it shows up again.
	// [ErrTableState] in any other state.
	AdoptIdentity(ctx context.Context, viewer Viewer, table TableID, expectedVersion int64, keepRules bool, by UserID) (LocatedTable, error)
}

// Policies keeps policies and their history.
type Policies interface {
	CreatePolicy(ctx context.Context, policy NewPolicy) (Policy, error)
	Policy(ctx context.Context, org OrgID, policy PolicyID) (Policy, error)
	// ListPolicies lists policies, oldest first.
	ListPolicies(ctx context.Context, org OrgID, filter PolicyFilter, page Page) (List[Policy], error)
	// UpdatePolicy replaces the whole content. expectedVersion is required:
	// [AnyVersion] gives [FieldErrors].
	UpdatePolicy(ctx context.Context, org OrgID, policy PolicyID, expectedVersion int64, spec PolicySpec, by UserID) (Policy, error)
	// DeletePolicy removes a policy and keeps its history. expectedVersion
	// is required.
	DeletePolicy(ctx context.Context, org OrgID, policy PolicyID, expectedVersion int64, by UserID) error
	// PolicyHistory lists revisions, newest first, also of a deleted policy.
	PolicyHistory(ctx context.Context, org OrgID, policy PolicyID, page Page) (List[PolicyRevision], error)
	// EnabledPolicies returns every enabled policy that concerns one of the
	// tables or all tables, in one statement, ordered by id. It serves
	// enforcement; its texts are not for clients.
	EnabledPolicies(ctx context.Context, org OrgID, tables []DeltaID) ([]Policy, error)
	// DeletedPolicies returns the last revision about one table of every policy that
	// was enabled when it was deleted or given to another table, in the order of the
	// times when that was done, which At holds. A policy that was made one of every
	// table, or given back, is not among them. Like EnabledPolicies, it serves
	// enforcement.
	DeletedPolicies(ctx context.Context, org OrgID, table DeltaID) ([]PolicyRevision, error)
}

// Constraints keeps CHECK constraints of tables. They hang on the table's Delta
// id, like policies, and make a table governed as policies do: see
// [Tables.SyncTables] and [Tables.AdoptIdentity].
type Constraints interface {
	// AddConstraints adds all or none. [ErrExists] with field
	// constraints[<i>].name.
	AddConstraints(ctx context.Context, viewer Viewer, table TableID, constraints []NewConstraint, by UserID) error
	// Constraints returns those of a table by name, for enforcement and for
	// whoever sees the table.
	Constraints(ctx context.Context, org OrgID, table DeltaID) ([]Constraint, error)
	// DeleteConstraint removes one by its name in any case. [ErrNotFound].
	DeleteConstraint(ctx context.Context, viewer Viewer, table TableID, name string) error
}

// APIKeys keeps API keys.
type APIKeys interface {
	// CreateAPIKey makes a key. [ErrExists] with field key_prefix: make
	// another key and retry. [ErrNotFound] when the owner is no member, or
	// the workspace is none that the owner is a member of. [FieldErrors] for
	// AllWorkspaces with another workspace than the default one.
	CreateAPIKey(ctx context.Context, key NewAPIKey) (APIKey, error)
	// APIKeyByPrefix finds a key in any organisation, for authentication.
	// Revoked and expired keys are returned too.
	APIKeyByPrefix(ctx context.Context, prefix string) (APIKey, error)
	APIKey(ctx context.Context, org OrgID, key KeyID) (APIKey, error)
	// ListAPIKeys lists keys, oldest first.
	ListAPIKeys(ctx context.Context, org OrgID, filter APIKeyFilter, page Page) (List[APIKey], error)
	// RevokeAPIKey ends a key at once. Idempotent: the time of the first
	// call stays.
	RevokeAPIKey(ctx context.Context, org OrgID, key KeyID) (APIKey, error)
	// RotateAPIKey makes a successor for a key, which then expires after
	// grace at the latest, and returns the successor. User, Org and
	// the reach of the successor are those of the old key, and it expires no later
	// than the old key would have. [ErrRevoked] for a
	// revoked or expired key; a key that has a successor gives
	// [ErrExists] with field successor.
	RotateAPIKey(ctx context.Context, org OrgID, key KeyID, successor NewAPIKey, grace time.Duration) (APIKey, error)
	// TouchAPIKey records a use; an older time than the recorded one changes
	// nothing. It does not raise the epoch.
	TouchAPIKey(ctx context.Context, key KeyID, at time.Time) error
}

// Operations keeps long work. No method raises the epoch.
//
// The methods that name a runner are for the replica of that name: they change
// only operations that it runs and that have not ended, and give [ErrNotFound]
// for others. An operation that was taken from a silent replica is thereby lost
// to it for good.
type Operations interface {
	// CreateOperation makes an operation; [ErrNotFound] when the user is no
	// member.
	CreateOperation(ctx context.Context, operation NewOperation) (Operation, error)
	Operation(ctx context.Context, org OrgID, operation OperationID) (Operation, error)
	// ListOperations lists operations, newest first.
	ListOperations(ctx context.Context, org OrgID, filter OperationFilter, page Page) (List[Operation], error)
	// CancelOperation asks the runner to stop. Idempotent; one that has ended
	// stays as it is.
	CancelOperation(ctx context.Context, org OrgID, operation OperationID) (Operation, error)
	// OperationUsage sums up what an organisation's operations take.
	OperationUsage(ctx context.Context, org OrgID) (OperationUsage, error)

	// StartOperation turns queued into running.
	StartOperation(ctx context.Context, runner string, operation OperationID) error
	// ReportOperation records progress.
	ReportOperation(ctx context.Context, runner string, operation OperationID, progress Progress) error
	// ReserveOperation records that an operation is about to keep so many bytes,
	// if those of all operations of its organisation then are at most most, and
	// reports whether they are. A later call replaces an earlier one; the end of
	// the operation replaces it with what is kept.
	ReserveOperation(ctx context.Context, runner string, operation OperationID, bytes, most int64) (bool, error)
	// FinishOperation ends an operation.
	FinishOperation(ctx context.Context, runner string, operation OperationID, outcome OperationOutcome) error
	// BeatOperations gives a sign of life for all that a runner runs.
	BeatOperations(ctx context.Context, runner string) error
	// CancelledOperations lists those that a runner should stop: their
	// cancellation was requested, or their organisation was deleted.
	CancelledOperations(ctx context.Context, runner string) ([]OperationID, error)

	// LoseOperations ends those whose runner gave no sign of life since a time,
	// with the given outcome, and returns how many there were.
	LoseOperations(ctx context.Context, since time.Time, outcome OperationOutcome) (int64, error)
	// ExpiredOperations lists up to limit operations of all organisations whose
	// time is over, or whose organisation was deleted after they ended.
	ExpiredOperations(ctx context.Context, limit int) ([]Operation, error)
	// ForgetOperation removes what is kept of an ended operation, after the
	// caller has removed what lies outside the catalog: result, private part and
	// sizes go, the record stays. Idempotent; [ErrOperationLive].
	ForgetOperation(ctx context.Context, org OrgID, operation OperationID) (Operation, error)
	// DeleteOperation removes the record of an ended operation. Idempotent;
	// [ErrOperationLive].
	DeleteOperation(ctx context.Context, org OrgID, operation OperationID) error
}

// WriteLeases keeps which writes to tables are under way, on any replica, and
// which vacuums. The files of a write lie in the table's folder before a version
// names them.
//
// Who restores a version begins before it asks for vacuums, who deletes files
// begins before it asks for writes. So of two that begin at the same time at least
// one sees the other.
type WriteLeases interface {
	// BeginWrite records that a write to a table begins now, before its first
	// file is made or deleted.
	BeginWrite(ctx context.Context, write NewWrite) (WriteLeaseID, error)
	// RenewWrite gives a sign of life. [ErrNotFound] when the write was
	// forgotten: its files may be gone, so it must not be committed.
	RenewWrite(ctx context.Context, lease WriteLeaseID) error
	// EndWrite ends a lease. Idempotent.
	EndWrite(ctx context.Context, lease WriteLeaseID) error
	// EndWritesOf ends the leases, of all organisations, of a holder that is known
	// to be gone, and counts them. Nobody has the empty name.
	EndWritesOf(ctx context.Context, holder string) (int64, error)
	// OldestWrite returns from when on files of a table are protected by the
	// writes that gave a sign of life since then: when the oldest one began, the
	// Unix epoch for a restore, the zero time without any.
	OldestWrite(ctx context.Context, org OrgID, table DeltaID, since time.Time) (time.Time, error)
	// VacuumUnderWay reports whether there is a vacuum of a table among those that
	// gave a sign of life since then.
	VacuumUnderWay(ctx context.Context, org OrgID, table DeltaID, since time.Time) (bool, error)
	// ForgetWrites removes the leases, of all organisations, that gave no sign
	// of life since then, and counts them.
	ForgetWrites(ctx context.Context, since time.Time) (int64, error)
}

// WriteKeys keeps which requests that change rows came under which idempotency
// key, so that a repeated one is answered and not done again.
type WriteKeys interface {
	// ClaimWriteKey keeps a fingerprint under the hash of a key, or returns what
	// an earlier request has left there.
	ClaimWriteKey(ctx context.Context, org OrgID, key, fingerprint string) (WriteKey, error)
	// SettleWriteKey keeps the reply of a request that has succeeded.
	// [ErrNotFound] when the key was forgotten.
	SettleWriteKey(ctx context.Context, org OrgID, key string, reply json.RawMessage) error
	// ForgetWriteKeys removes the keys, of all organisations, that were claimed
	// before, and counts them.
	ForgetWriteKeys(ctx context.Context, before time.Time) (int64, error)
}

// Audit keeps the audit log. Entries are never changed.
type Audit interface {
	// AppendAudit adds entries. An empty ID or time is filled in.
	AppendAudit(ctx context.Context, entries ...AuditEntry) error
	// ListAudit lists entries of an organisation, newest first.
	ListAudit(ctx context.Context, org OrgID, filter AuditFilter, page Page) (List[AuditEntry], error)
}

// Epochs tells when something that affects visibility or authorisation has
// changed: keys, roles, attributes, policies, configurations, tables,
// workspaces, organisations. The epoch only grows, and whoever sees an epoch
// sees every change up to it.
type Epochs interface {
	// Epoch returns the current epoch from the database.
	Epoch(ctx context.Context) (uint64, error)
	// Watch sends the epoch each time it was confirmed, changed or not, at
	// least once a second while the database answers. Only the newest value
	// is kept for a slow receiver. Silence means that the epoch could not be
	// confirmed. The channel is closed when ctx ends or the store is closed.
	Watch(ctx context.Context) <-chan uint64
}

// Commits tells replicas of new versions of tables sooner than they would look
// for them. Nothing is kept.
type Commits interface {
	// AnnounceCommit tells the watches of all other replicas that the table at a
	// path has a new version. On a database that one process uses it does nothing.
	AnnounceCommit(ctx context.Context, table CommittedTable) error
	// WatchCommits sends what was announced. The zero value means any table: it
	// comes first, and again whenever announcements can have been missed. The
	// channel is closed when ctx ends or the store is closed; it must be read
	// until then.
	WatchCommits(ctx context.Context) <-chan CommittedTable
}

// CommittedTable is where a table has a new version.
type CommittedTable struct {
	Config ConfigID `json:"config"`
	Path   string   `json:"path"`
}
