package catalog

import (
	"iter"
	"strconv"
)

// MaxHoldings bounds each list of [Holdings].
const MaxHoldings = 1000

// Holdings is what a person has, in all organisations. Each list has at most [MaxHoldings] items.
type Holdings struct {
	// Owned are the organisations that the person owns, deleted ones included.
	Owned []UserOrganisation
	// Memberships are the organisations of the person that are not deleted.
	Memberships []UserOrganisation
	// Configs are the personal storage configurations, also those of former memberships.
	Configs []HeldConfig
	// Keys are the API keys that are neither revoked nor have expired.
	Keys []HeldKey
}

// HeldConfig is a personal storage configuration.
type HeldConfig struct {
	ID   ConfigID
	Org  OrgID
	Name string
}

// HeldKey is an API key.
type HeldKey struct {
	ID   KeyID
	Org  OrgID
	Name string
}

// OwnerError is the [ErrOwner] that names the organisations.
type OwnerError struct{ Organisations []UserOrganisation }

// Error implements error.
func (e *OwnerError) Error() string { return ErrOwner.Error() }

// Is matches [ErrOwner].
func (e *OwnerError) Is(target error) bool { return target == ErrOwner }

// FieldProblems yields the organisations, for the reply to their owner.
func (e *OwnerError) FieldProblems() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, o := range e.Organisations {
			if !yield("organisations."+string(o.ID), strconv.Quote(o.Name)+" has no other owner; transfer or delete it") {
				return
			}
		}
	}
}
