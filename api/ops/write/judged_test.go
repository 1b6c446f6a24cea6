package write_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/api/ops/write"
	"github.com/lakewarden/lakewarden/catalog"
)

// TestAChangeOfAllRowsIsJudgedBeforeItsCommit checks that a caller who loses sight of rows after a
// change has begun does not complete it.
func TestAChangeOfAllRowsIsJudgedBeforeItsCommit(t *testing.T) {
	p := newPlaces(t)
	made := p.create("visits")
	require.NoError(t, p.insert("visits", `[{"id":1,"country":"AT","city":"Wien"}]`))
	builder := p.Member(catalog.RoleBuilder)
	door, err := p.Tables.OpenChangeable(builder, p.Caller(builder), access.Ref{Path: p.Path("visits")})
	require.NoError(t, err)
	whole, err := door.Whole(builder)
	require.NoError(t, err, "no policy: the builder sees everything")

	change := write.Replacement{Table: whole, To: "Vienna", By: p.Org.Owner, ColumnValue: write.ColumnValue{Column: "city", Value: "Wien"}}
	p.Policy(made, catalog.PolicyRows, "", `permit (principal, action, resource) when { resource has country && resource.country == "CH" };`)
	_, err = p.Writes.ReplaceValue(t.Context(), change)
	require.ErrorIs(t, err, access.ErrPartlyVisible)
	unfiltered, err := p.Tables.OpenUnfiltered(t.Context(), p.table("visits"))
	require.NoError(t, err)
	n, err := p.Writes.CountValue(t.Context(), unfiltered.AsSeen(), change.ColumnValue)
	require.NoError(t, err)
	require.Equal(t, int64(1), n, "no row has changed")
}
