package catalog

import (
	"context"
	"strings"
	"time"
)

// MoveState is the state of a [Move]. A move goes from copying to switched, deleting and done.
// One that fails before it is deleting goes to discarding and then to failed.
type MoveState string

// The states of a move.
const (
	// MoveCopying means that objects are being copied to the destination.
	MoveCopying MoveState = "copying"
	// MoveSwitched means that the tables are registered at the destination, but the switch
	// can still be reverted.
	MoveSwitched MoveState = "switched"
	// MoveDeleting means that the objects of the source are being deleted.
	MoveDeleting MoveState = "deleting"
	// MoveDiscarding means that the objects that were copied are being deleted.
	MoveDiscarding MoveState = "discarding"
	// MoveDone means that the move has succeeded.
	MoveDone MoveState = "done"
	// MoveFailed means that the move has failed. The tables are at the source, unless
	// objects remained there after the switch.
	MoveFailed MoveState = "failed"
)

// Ended reports whether the state is final.
func (s MoveState) Ended() bool { return s == MoveDone || s == MoveFailed }

// MaxMovedTables is the maximum number of registrations that one move changes.
const MaxMovedTables = 1000

// Place is a folder below the root of a storage configuration. An empty path is the root.
type Place struct {
	Config ConfigID
	Path   string
}

// Covers reports whether the place is, or contains, a path of a configuration.
func (p Place) Covers(config ConfigID, path string) bool {
	return p.Config == config && PathWithin(path, p.Path)
}

// PathWithin reports whether a path is, or lies in, a folder. Every path lies in the empty one.
func PathWithin(path, folder string) bool {
	return folder == "" || path == folder || strings.HasPrefix(path, folder+"/")
}

// Within returns the location of a path below l.
func (l Location) Within(path string) Location {
	if path == "" {
		return l
	}
	return l + Location(path) + "/"
}

// Move is the move of all objects below one place to another one, together with the
// registrations of the tables there.
type Move struct {
	ID             MoveID
	Org            OrgID
	User           UserID
	Source, Target Place
	// Fingerprint identifies the content of the request.
	Fingerprint string
	State       MoveState
	// Objects and Bytes are what was copied, Tables the number of tables that have left the
	// source. They are zero before the switch.
	Objects, Bytes, Tables int64
	// Epoch is the one from which statements use the destination, or 0 before the switch.
	Epoch uint64
	// Problem is why the move fails; nil for one that does not.
	Problem *OperationProblem
	// Holder is the replica that works on the move.
	Holder  string
	BegunAt time.Time
}

// NewMove is the input of [Moves.BeginMove].
type NewMove struct {
	ID             MoveID
	Org            OrgID
	User           UserID
	Source, Target Place
	// Key is the hash of the idempotency key, or empty.
	Key, Fingerprint string
	Holder           string
}

// Validate returns nil or [FieldErrors].
func (n NewMove) Validate() error {
	var e FieldErrors
	e.tablePath("source_path", n.Source.Path)
	e.tablePath("destination_path", n.Target.Path)
	if n.Source.Config == n.Target.Config && (PathWithin(n.Source.Path, n.Target.Path) || PathWithin(n.Target.Path, n.Source.Path)) {
		e.add("destination_path", "must neither contain the source nor lie in it")
	}
	e.text("fingerprint", n.Fingerprint, 1, 128)
	e.text("key", n.Key, 0, 128)
	return e.Err()
}

// MovedObjects counts what a move has copied.
type MovedObjects struct{ Objects, Bytes int64 }

// Moves stores the moves of objects between storage configurations.
//
// A move begins before its holder looks for writes, and a write takes its lease before it
// calls CheckPlace. So of a move and a write that begin at the same time, at least one sees the
// other. Until a move has ended, its tables cannot be written to, discoveries ignore its
// places, and no table can be registered there: the source is deleted only as far as the
// destination has all of it.
//
// Methods with a holder change a move of this holder only and return [ErrNotFound] for
// others: a replica cannot continue a move that another one has taken over.
type Moves interface {
	// BeginMove stores a move, or returns the earlier one with its key. Compare the ids. An
	// earlier one that has failed before its switch loses the key to the new one. It returns
	// [ErrMoveUnderWay] if the places overlap those of another move, [ErrSandbox], [ErrExists]
	// with field destination_path if a table is registered there, and [FieldErrors].
	BeginMove(ctx context.Context, move NewMove) (Move, error)
	Move(ctx context.Context, org OrgID, move MoveID) (Move, error)
	// MoveByKey returns the move with the hash of an idempotency key.
	MoveByKey(ctx context.Context, org OrgID, key string) (Move, error)
	// RenewMove renews the lease of a move.
	RenewMove(ctx context.Context, move MoveID, holder string) error
	// ReleaseMove lets any replica take over a move at once.
	ReleaseMove(ctx context.Context, move MoveID, holder string) error
	// SwitchMove registers the tables of a copying move at the destination. Ids, custom names
	// and everything that refers to the tables remain. It returns [ErrExists] with field
	// destination_path.
	SwitchMove(ctx context.Context, move MoveID, holder string, copied MovedObjects) (Move, error)
	// SettleMove makes a switched move final: its source is to be deleted.
	SettleMove(ctx context.Context, move MoveID, holder string) (Move, error)
	// DiscardMove makes a copying or switched move fail. It restores all that a switch has
	// changed.
	DiscardMove(ctx context.Context, move MoveID, holder string, problem OperationProblem) (Move, error)
	// EndMove ends a deleting move, which has failed if problem is not nil, or a discarding
	// one.
	EndMove(ctx context.Context, move MoveID, holder string, problem *OperationProblem) (Move, error)
	// TakeMoves makes holder the holder of the moves, of all organisations, that were not
	// renewed since the given time, and returns these and its own.
	TakeMoves(ctx context.Context, holder string, since time.Time) ([]Move, error)
	// ForgetMoves removes the ended moves that began before the given time, and returns their
	// number.
	ForgetMoves(ctx context.Context, before time.Time) (int64, error)

	// CheckPlace returns [ErrTableMoving] if a move is under way that concerns a table, or its
	// path, or if the table is no longer registered there. An empty id checks the path only.
	CheckPlace(ctx context.Context, table Table) error
	// WritesBeforeMove reports whether a write to a table of a move is in progress, or a
	// vacuum, whose lease was renewed since the given time.
	WritesBeforeMove(ctx context.Context, move MoveID, since time.Time) (bool, error)
	// ReportReads records that no running statement of a replica was planned before an epoch.
	ReportReads(ctx context.Context, replica string, epoch uint64) error
	// OldestReads returns the lowest epoch of the replicas that have reported since the given
	// time. It returns [ErrNotFound] if there are none.
	OldestReads(ctx context.Context, since time.Time) (uint64, error)
	// ForgetReads removes the reports of replicas that were silent since the given time, and
	// that of a replica that ends.
	ForgetReads(ctx context.Context, replica string, since time.Time) error
}
