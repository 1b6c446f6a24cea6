package catalog

import (
	"context"
	"time"
)

// DomainKind is the way in which a domain restricts the values of a column.
type DomainKind string

// The kinds of domain.
const (
	// DomainFixed lists the values.
	DomainFixed DomainKind = "fixed"
	// DomainHierarchical lists values for each value of a parent column of the same row.
	DomainHierarchical DomainKind = "hierarchical"
	// DomainReference takes the values from a column of another table.
	DomainReference DomainKind = "reference"
	// DomainRange bounds numbers or times.
	DomainRange DomainKind = "range"
)

// Valid reports whether k is one of the kinds.
func (k DomainKind) Valid() bool {
	return k == DomainFixed || k == DomainHierarchical || k == DomainReference || k == DomainRange
}

// Limits of domains.
const (
	// MaxDomainValues bounds the values of a domain, those of all parents together.
	MaxDomainValues = 10_000
	// MaxDomainValueBytes bounds one value.
	MaxDomainValueBytes = 1024
	// MaxDomainLabelBytes and MaxDomainDescriptionBytes bound the texts of a value.
	MaxDomainLabelBytes       = 255
	MaxDomainDescriptionBytes = 4096
	// MaxDomainNameLength bounds the name of a shared domain, in characters.
	MaxDomainNameLength = 100
)

// DomainSource is the table from which a reference or hierarchical domain takes its
// values. Columns are identified by their physical names, which no rename changes.
type DomainSource struct {
	// Config is where the table was registered when the source was set. A table that was
	// moved since then is found by its id; Config decides only if several registrations
	// of it are live.
	Config ConfigID
	Table  DeltaID
	// Column holds the values: the column of a reference, or the child key of a lookup.
	Column string
	// ParentKey holds the parents of a lookup; empty for a reference.
	ParentKey string
}

// DomainRangeBounds are the bounds of a range, as text of the column's type. An empty
// bound does not limit.
type DomainRangeBounds struct {
	Min, Max string
	// Inclusive reports that the bounds themselves belong to the range.
	Inclusive bool
}

// DomainSpec is what a domain allows, without its values.
type DomainSpec struct {
	Kind DomainKind
	// Source is set for references, and for hierarchical domains that are resolved from
	// a lookup table. The values of other hierarchical domains are in the catalog.
	Source *DomainSource
	// Range is set for ranges.
	Range *DomainRangeBounds
}

// Listed reports whether the catalog holds the values of the domain.
func (s DomainSpec) Listed() bool {
	return s.Source == nil && (s.Kind == DomainFixed || s.Kind == DomainHierarchical)
}

// Domain restricts the values of one column, or of several columns if it is shared.
type Domain struct {
	ID  DomainID
	Org OrgID
	// Name is the name of a shared domain, unique in the organisation regardless of
	// case. It is empty for a domain that belongs to one column.
	Name        string
	Description string
	DomainSpec
	// Version is 1 at creation and increases by 1 with every change, also of a value.
	Version   int64
	CreatedBy UserID
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Shared reports whether the domain has a name and may be used by several columns.
func (d Domain) Shared() bool { return d.Name != "" }

// DomainValue is a value of a domain.
type DomainValue struct {
	ID ValueID
	// Parent is the parent of a child in a hierarchical domain; empty for parents and
	// for values of fixed domains.
	Parent ValueID
	Value  string
	// Label and Description are for people; empty means none.
	Label, Description string
	// Joining is the text that replaces Value when the change under way ends. Until
	// then both are allowed. Empty means that the value is not being renamed.
	Joining string
}

// NewDomainValue is a value to be created. Parent is set for the children of a
// hierarchical domain: it is the text of a parent in the same input, or of an existing
// parent.
type NewDomainValue struct {
	// ID gives the value an id that it had before, to undo a change. Empty means that an
	// equal value of the replaced domain passes on its id, or that the store chooses one.
	ID                 ValueID
	Parent             string
	Value              string
	Label, Description string
}

// NewDomain is the input of [Domains.SetColumnDomain] and [Domains.CreateDomain]. The
// values of a hierarchical domain contain every parent before its children. Name and
// Description are for shared domains only.
type NewDomain struct {
	Name, Description string
	DomainSpec
	Values []NewDomainValue
}

// ColumnDomain says that a domain restricts a column of a table.
type ColumnDomain struct {
	Org   OrgID
	Table DeltaID
	// Column is the physical name of the column, Parent that of the parent column of a
	// hierarchical domain.
	Column, Parent string
	// Domain is the zero value if the shared domain of the column was deleted while the
	// table was gone. The column must not be written to until it has another domain, or
	// none.
	Domain Domain
}

// Deleted reports that the shared domain of the column was deleted.
func (c ColumnDomain) Deleted() bool { return c.Domain.Kind == "" }

// TableDomains are the domains of the columns of one table, ordered by column.
type TableDomains struct {
	// Version changes whenever the domains of the table change, or their values. 0
	// means that the table never had a domain.
	Version int64
	Columns []ColumnDomain
}

// DomainValues are the values of a domain at one version, parents before children, each
// in the order in which they were added.
type DomainValues struct {
	Version int64
	Values  []DomainValue
}

// ColumnDomainAt names a column, by its physical name, and the parent column that a
// hierarchical domain compares it with.
type ColumnDomainAt struct {
	Column, Parent string
	// Expected, unless empty, is the domain that the column must have before the change,
	// and ExpectedVersion its version. Otherwise the change fails with
	// [ErrVersionConflict]. Changes that can be undone set it, and so does their undoing,
	// so that neither overwrites another change.
	Expected        DomainID
	ExpectedVersion int64
	// ExpectNone requires that the column has no domain before the change.
	ExpectNone bool
}

// DomainTarget is a domain that is to be changed. Table is the table whose column owns
// the domain; it is empty for a shared domain. ExpectedVersion may be [AnyVersion].
type DomainTarget struct {
	Org             OrgID
	Viewer          Viewer
	Table           TableID
	Domain          DomainID
	ExpectedVersion int64
	// Uses, unless nil, are the columns, as [Domains.DomainUses] returns them, by which the caller
	// was judged. If other columns use the domain when it is changed, or one of these no longer
	// does, the change fails with [ErrVersionConflict].
	Uses []ColumnDomain
}

// ValueChangeKind is what a [ValueChange] does to a value and to its rows.
type ValueChangeKind string

// The kinds of value change.
const (
	// ValueRename gives a value another text, in rows too.
	ValueRename ValueChangeKind = "rename"
	// ValueReplace removes a value, and gives its rows another value of the domain.
	ValueReplace ValueChangeKind = "replace"
	// ValueDelete removes a value that no row has, with a parent its children too.
	ValueDelete ValueChangeKind = "delete"
)

// ValueChange is a change of a value together with the rows that have it. While it is
// under way, From and To are both allowed; after [Domains.NarrowValueChange] only To is.
// It survives the replica that began it: whoever holds it gives all rows with From the
// text To, narrows it, repeats that for rows that were committed in between, and ends it.
// A deletion has no To and is narrowed from the beginning. Its holder withdraws it if
// rows have From, and ends it otherwise.
type ValueChange struct {
	ID     ValueChangeID
	Org    OrgID
	Domain DomainID
	Kind   ValueChangeKind
	Value  ValueID
	// From and To are the texts in rows. Parent is the text of the parent if the value is
	// a child; then only rows with that parent are changed.
	From, To, Parent string
	// Narrowed reports that From is not allowed any more.
	Narrowed bool
	// Withdrawn reports that [Domains.WithdrawValueChange] has exchanged From and To.
	Withdrawn bool
	By        UserID
	Holder    string
}

// Domains stores the domains of columns. They refer to the table's Delta id and to the
// physical name of the column, and make a table governed as policies do, also a table
// that is the source of a domain: see [Tables.SyncTables] and [Tables.AdoptIdentity].
// Every change of a domain or of its values raises [TableDomains.Version] of each
// table that uses it.
//
// A table is gone if it is registered nowhere, or vanished or dropped wherever it is. Its
// columns keep their domains in case that it returns, but keep nothing from being deleted.
type Domains interface {
	// TableDomains returns the domains of a table's columns, for enforcement and for
	// callers who see the table. It is one statement.
	TableDomains(ctx context.Context, org OrgID, table DeltaID) (TableDomains, error)
	// DomainValues returns the values of a domain, for enforcement and for callers who
	// may read it. A value whose deletion is under way is left out, with its children.
	DomainValues(ctx context.Context, org OrgID, domain DomainID) (DomainValues, error)
	// SetColumnDomain gives a column a domain of its own. A domain that the column has of
	// its own is replaced and keeps its id, and its values keep theirs if the kind is the
	// same. It returns [FieldErrors], [ErrDomainCycle], and [ErrValueChange] while a
	// value change is under way.
	SetColumnDomain(ctx context.Context, viewer Viewer, table TableID, at ColumnDomainAt, domain NewDomain, by UserID) (ColumnDomain, error)
	// UseDomain gives a column a shared domain in place of the one that it has. An empty id
	// stands for a deleted one, to undo a change. It returns the errors of SetColumnDomain.
	UseDomain(ctx context.Context, viewer Viewer, table TableID, at ColumnDomainAt, domain DomainID, by UserID) (ColumnDomain, error)
	// RemoveColumnDomain removes the domain of a column. It returns [ErrNotFound], and
	// [ErrValueChange].
	RemoveColumnDomain(ctx context.Context, viewer Viewer, table TableID, at ColumnDomainAt) error

	// CreateDomain creates a shared domain. It returns [ErrExists] with field name.
	CreateDomain(ctx context.Context, org OrgID, domain NewDomain, by UserID) (Domain, error)
	// Domain returns a shared domain.
	Domain(ctx context.Context, org OrgID, domain DomainID) (Domain, error)
	// ListDomains lists the shared domains by name.
	ListDomains(ctx context.Context, org OrgID, page Page) (List[Domain], error)
	// ReplaceDomain replaces the content of the shared domain target.Domain. Values that
	// remain keep their ids. It returns [ErrExists] with field name, [ErrValueChange],
	// [ErrDomainCycle], and [ErrDomainKind] for another kind while columns use the domain.
	// For the columns of tables that are gone, a domain of another kind is a deleted one.
	ReplaceDomain(ctx context.Context, target DomainTarget, content NewDomain) (Domain, error)
	// DeleteDomain removes a shared domain. It returns [ErrDomainInUse] if a column uses
	// it, unless the table is gone: see [ColumnDomain.Deleted].
	DeleteDomain(ctx context.Context, org OrgID, domain DomainID, expectedVersion int64) error
	// DomainUses returns the columns that use a domain: several if it is shared, otherwise
	// the one that owns it. Columns of tables that are gone are left out.
	DomainUses(ctx context.Context, org OrgID, domain DomainID) ([]ColumnDomain, error)
	// DomainsFrom returns the columns whose domains take their values from a table. Columns
	// of tables that are gone are left out.
	DomainsFrom(ctx context.Context, org OrgID, source DeltaID) ([]ColumnDomain, error)

	// AddDomainValues adds values in their order. It returns [ErrExists] with field
	// values[<i>].value, [FieldErrors], and [ErrDomainKind] for a domain that has no
	// listed values, or no parents if a value has one.
	AddDomainValues(ctx context.Context, target DomainTarget, values []NewDomainValue) (Domain, []DomainValue, error)
	// DescribeDomainValue changes the label and description of a value.
	DescribeDomainValue(ctx context.Context, target DomainTarget, value ValueID, label, description string) (Domain, error)

	// BeginValueChange records a change under way, and allows its To in addition to its
	// From. A deletion is narrowed at once: its value is not allowed any more, but the
	// store retains it. The store sets From and Parent, and the id if it is empty. It
	// returns [ErrValueChange] if the domain has a change already, [ErrExists] with field
	// value for a rename to the text of another value, and [FieldErrors] for a
	// replacement by a text that is not another value with the same parent.
	BeginValueChange(ctx context.Context, target DomainTarget, change ValueChange) (ValueChange, error)
	// RenewValueChange records that the holder still works on a change. It returns
	// [ErrNotFound] if another holder has taken it over.
	RenewValueChange(ctx context.Context, change ValueChangeID, holder string) error
	// NarrowValueChange ends that From is allowed. Idempotent.
	NarrowValueChange(ctx context.Context, change ValueChangeID) error
	// EndValueChange removes the record of a narrowed change, and the value of a deletion.
	// Idempotent. It returns [ErrValueChange] for a change that is not narrowed.
	EndValueChange(ctx context.Context, change ValueChangeID) error
	// WithdrawValueChange gives up a change whose rows cannot be rewritten. It returns
	// [ErrValueChange] for a rename or replacement that was narrowed before. Of a
	// replacement it removes the record: both values stay allowed. Of a deletion too: the
	// value is allowed again, as it was. A rename changes its direction: From and To
	// are exchanged and the change counts as narrowed, so that rows that got the new text
	// in the meantime can be given the previous one by the holder of the change.
	// Idempotent.
	WithdrawValueChange(ctx context.Context, change ValueChangeID) error
	// TakeValueChanges returns the changes, of all organisations, that were not renewed
	// since the given time, or whose holder is the given one, and makes the holder
	// theirs. The caller leaves out those that it works on already.
	TakeValueChanges(ctx context.Context, holder string, since time.Time) ([]ValueChange, error)
}

// Publications orders the commits of writes and the changes of domains, so that no row
// is committed that was checked under domains that had changed before.
type Publications interface {
	// PublishWrite records that a write is about to commit rows that were checked under
	// a version of the table's domains ([TableDomains.Version]). It returns
	// [ErrDomainsChanged] if that is not the current one, and [ErrNotFound] as
	// [WriteLeases.RenewWrite] does. A change of the domains either precedes the record,
	// or PublishingBefore reports the write until it has ended.
	PublishWrite(ctx context.Context, lease WriteLeaseID, domains int64) error
	// WithdrawWrite records that the attempt to commit has failed. Idempotent.
	WithdrawWrite(ctx context.Context, lease WriteLeaseID) error
	// PublishingBefore reports whether a write to a table, renewed since the given time,
	// is committing rows that were checked under domains before a version.
	PublishingBefore(ctx context.Context, org OrgID, table DeltaID, domains int64, since time.Time) (bool, error)
}
