package auth

import (
	"iter"
	"strconv"
	"strings"
)

// Scope is the name of one permission.
type Scope string

// The scopes, grouped by the weakest role that has them.
const (
	ScopeOrgRead     Scope = "org:read"
	ScopeTablesRead  Scope = "tables:read"
	ScopeTablesQuery Scope = "tables:query"
	ScopeDomainsRead Scope = "domains:read"
	ScopeStorageRead Scope = "storage:read"

	ScopeRowsInsert Scope = "rows:insert"
	ScopeRowsUpdate Scope = "rows:update"
	ScopeRowsDelete Scope = "rows:delete"

	ScopeTablesCreate        Scope = "tables:create"
	ScopeTablesModify        Scope = "tables:modify"
	ScopeDomainsWrite        Scope = "domains:write"
	ScopeStorageWrite        Scope = "storage:write"
	ScopeStorageConfigure    Scope = "storage:configure"
	ScopeStorageConfigsShare Scope = "storage_configs:share"
	ScopePoliciesRead        Scope = "rls_policies:read"
	ScopeAPIKeysCreate       Scope = "apikeys:create"

	ScopePoliciesWrite     Scope = "rls_policies:write"
	ScopeProviderAppsWrite Scope = "provider_apps:write"
	ScopeOrgUpdate         Scope = "org:update"
	ScopeUsersWrite        Scope = "users:write"
)

// The presets represent a role's scopes in a request. They are expanded when a key is
// created and never stored.
const (
	PresetRead  = "read"
	PresetWrite = "write"
	PresetAdmin = "admin"
)

// scopeTable holds every scope with the weakest role that has it. The position of a
// scope is its bit in a [ScopeSet] of this process. It is never stored, so lines may be
// moved freely.
var scopeTable = []struct {
	scope Scope
	role  Role
}{
	{ScopeOrgRead, RoleViewer},
	{ScopeTablesRead, RoleViewer},
	{ScopeTablesQuery, RoleViewer},
	{ScopeDomainsRead, RoleViewer},
	{ScopeStorageRead, RoleViewer},
	{ScopeRowsInsert, RoleEditor},
	{ScopeRowsUpdate, RoleEditor},
	{ScopeRowsDelete, RoleEditor},
	{ScopeTablesCreate, RoleBuilder},
	{ScopeTablesModify, RoleBuilder},
	{ScopeDomainsWrite, RoleBuilder},
	{ScopeStorageWrite, RoleBuilder},
	{ScopeStorageConfigure, RoleBuilder},
	{ScopeStorageConfigsShare, RoleBuilder},
	{ScopePoliciesRead, RoleBuilder},
	{ScopeAPIKeysCreate, RoleBuilder},
	{ScopePoliciesWrite, RoleAdmin},
	{ScopeProviderAppsWrite, RoleAdmin},
	{ScopeOrgUpdate, RoleAdmin},
	{ScopeUsersWrite, RoleAdmin},
}

// scopeBit returns the bit of a scope, or 0 for an unknown one.
func scopeBit(s Scope) uint32 {
	for i, entry := range scopeTable {
		if entry.scope == s {
			return 1 << i
		}
	}
	return 0
}

// ScopeSet is an immutable set of known scopes. The zero value is empty. Sets
// are comparable with ==.
type ScopeSet struct{ bits uint32 }

// NewScopeSet returns the set of the given scopes. Unknown ones are ignored.
func NewScopeSet(scopes ...Scope) ScopeSet {
	var set ScopeSet
	for _, s := range scopes {
		set.bits |= scopeBit(s)
	}
	return set
}

// StoredScopes parses scope names from storage or from a token. Unknown names, such as
// those of a newer release, grant nothing. Presets are not expanded, since a credential
// lists granular scopes.
func StoredScopes(names []string) ScopeSet {
	var set ScopeSet
	for _, n := range names {
		set.bits |= scopeBit(Scope(n))
	}
	return set
}

// AllScopes returns every scope.
func AllScopes() ScopeSet { return RoleAdmin.Scopes() }

// OpenClientScopes returns the scopes that a client may have for which nobody vouches: none that
// manages people, credentials or rules.
func OpenClientScopes() ScopeSet {
	return RoleBuilder.Scopes().Minus(NewScopeSet(ScopeStorageConfigure, ScopeStorageConfigsShare, ScopeAPIKeysCreate))
}

// Has reports whether s is in the set.
func (set ScopeSet) Has(s Scope) bool {
	bit := scopeBit(s)
	return bit != 0 && set.bits&bit != 0
}

// Contains reports whether every scope of sub is in the set.
func (set ScopeSet) Contains(sub ScopeSet) bool { return sub.bits&^set.bits == 0 }

// Intersect returns the scopes that are in both sets.
func (set ScopeSet) Intersect(other ScopeSet) ScopeSet { return ScopeSet{set.bits & other.bits} }

// Union returns the scopes that are in either set.
func (set ScopeSet) Union(other ScopeSet) ScopeSet { return ScopeSet{set.bits | other.bits} }

// Minus returns the scopes of the set that are not in other.
func (set ScopeSet) Minus(other ScopeSet) ScopeSet { return ScopeSet{set.bits &^ other.bits} }

// Empty reports whether the set has no scope.
func (set ScopeSet) Empty() bool { return set.bits == 0 }

// Equal reports whether two sets hold the same scopes.
func (set ScopeSet) Equal(other ScopeSet) bool { return set == other }

// All yields the scopes of the set in the documented order.
func (set ScopeSet) All() iter.Seq[Scope] {
	return func(yield func(Scope) bool) {
		for i, entry := range scopeTable {
			if set.bits&(1<<i) != 0 && !yield(entry.scope) {
				return
			}
		}
	}
}

// Strings returns the granular scope names in the documented order. It is never nil, so
// that it encodes as a JSON array.
func (set ScopeSet) Strings() []string {
	names := make([]string, 0, len(scopeTable))
	for s := range set.All() {
		names = append(names, string(s))
	}
	return names
}

// String returns the names separated by spaces, in the form of a token's scope claim.
func (set ScopeSet) String() string { return strings.Join(set.Strings(), " ") }

// ExpandScopes turns requested scope names, which may mix presets and granular ones,
// into a set. An empty list means the viewer's scopes. Unknown names give an
// [UnknownScopesError].
func ExpandScopes(names []string) (ScopeSet, error) {
	if len(names) == 0 {
		return RoleViewer.Scopes(), nil
	}
	var set ScopeSet
	var unknown []int
	for i, name := range names {
		switch name {
		case PresetRead:
			set = set.Union(RoleViewer.Scopes())
		case PresetWrite:
			set = set.Union(RoleBuilder.Scopes())
		case PresetAdmin:
			set = set.Union(RoleAdmin.Scopes())
		default:
			bit := scopeBit(Scope(name))
			if bit == 0 {
				unknown = append(unknown, i)
			}
			set.bits |= bit
		}
	}
	if unknown != nil {
		return ScopeSet{}, &UnknownScopesError{Indexes: unknown}
	}
	return set, nil
}

// UnknownScopesError holds the indexes of unknown scopes in a request. It wraps
// [ErrUnknownScope] and lists the fields for the error body.
type UnknownScopesError struct {
	// Indexes are the positions in the request's list, ascending, never empty.
	Indexes []int
}

// Error returns the index of the first unknown scope, never its name.
func (e *UnknownScopesError) Error() string {
	return ErrUnknownScope.Error() + " at index " + strconv.Itoa(e.Indexes[0])
}

// Unwrap returns [ErrUnknownScope].
func (e *UnknownScopesError) Unwrap() error { return ErrUnknownScope }

// FieldProblems yields one field and message for each unknown scope.
func (e *UnknownScopesError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, i := range e.Indexes {
			if !yield("scopes["+strconv.Itoa(i)+"]", "is not a known scope or preset") {
				return
			}
		}
	}
}
