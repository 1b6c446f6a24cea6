package query_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/cmd/e2e/harness"
)

// TestOrderOfRowsRevealsNothing checks that after every kind of write and after optimize
// the order of visible rows does not depend on the number of hidden rows. A file of many
// rows has several row groups, which several threads write.
func TestOrderOfRowsRevealsNothing(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	eva := s.Member("eva@acme.example", "editor", map[string]string{"tenant": "a"})
	worlds := []struct {
		name          string
		before, after int
	}{{"none", 0, 0}, {"before", 20, 0}, {"after", 0, 20}, {"many", 150_000, 30_000}}
	for _, size := range []int{60, 90_000} {
		seen := map[string]map[string][]any{}
		for _, world := range worlds {
			name := fmt.Sprintf("%s%d", world.name, size)
			rows := func(tenant, id string, n int) string {
				return fmt.Sprintf("SELECT %s AS id, '%s' AS tenant, i AS n FROM range(%d) r(i)", id, tenant, n)
			}
			s.Table(name, rows("b", "-1 - i", world.before)+" UNION ALL "+rows("a", "i", size)+" UNION ALL "+rows("b", "-1 - i", world.after), nil,
				column{"id", "long"}, column{"tenant", "string"}, column{"n", "long"})
			s.Policy(name, "tenant", `{"effect":"permit","subject":{"attribute":"tenant","op":"eq"},"condition":null}`)
			orders := map[string][]any{}
			look := func(step string) {
				orders[step] = eva.Rows("SELECT id FROM " + s.Schema + "." + name)
			}
			look("first")
			path := s.TablePath(name)
			for range 4 {
				eva.OK("POST", path+"/rows/update", object{"where": "id = 59", "set": object{"n": "n + 1"}})
			}
			look("update")
			eva.OK("POST", path+"/rows/merge?on=id", object{"rows": list{object{"id": 7, "tenant": "a", "n": 0},
				object{"id": -7_000_000, "tenant": "a", "n": 0}}})
			look("merge")
			eva.OK("POST", path+"/rows/delete", object{"where": "id = 8"})
			look("delete")
			eva.OK("POST", path+"/rows", object{"rows": list{object{"id": 90_000_001, "tenant": "a", "n": 0}}})
			s.Admin.OK("POST", path+"/optimize", object{})
			orders["optimize"] = eva.Rows("SELECT id FROM " + s.Schema + "." + name + " WHERE id <> 90000001") // one of two files, by their names
			seen[world.name] = orders
		}
		for step, order := range seen["none"] {
			for _, world := range worlds[1:] {
				require.Equal(t, len(order), len(seen[world.name][step]), "%s in %s of %d", step, world.name, size)
				for i := range order {
					require.Equal(t, order[i], seen[world.name][step][i], "row %d after %s in %s of %d", i, step, world.name, size)
				}
			}
		}
	}
}
