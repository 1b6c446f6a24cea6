package catalogtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
)

// population is the data of the oracle, which decides visibility from these maps alone.
type population struct {
	orgs     []catalog.OrgID
	users    []catalog.UserID
	spaces   []catalog.WorkspaceID
	configs  []catalog.StorageConfig
	tables   map[catalog.ConfigID][]catalog.Table
	isMember map[string]bool // org user
	inSpace  map[string]bool // workspace user
	base     map[catalog.WorkspaceID]bool
}

func (p *population) sees(v catalog.Viewer, c catalog.StorageConfig) bool {
	if c.Org != v.Org {
		return false
	}
	if v.Everything {
		return true
	}
	if !p.isMember[fmt.Sprint(v.Org, v.User)] {
		return false
	}
	if c.Workspace == "" {
		return c.Owner == v.User
	}
	if p.base[c.Workspace] {
		return true
	}
	if v.Limited && c.Workspace != v.Workspace {
		return false
	}
	return p.inSpace[fmt.Sprint(c.Workspace, v.User)]
}

func populate(w *world, random *rand.Rand) *population {
	p := &population{
		tables: map[catalog.ConfigID][]catalog.Table{}, isMember: map[string]bool{},
		inSpace: map[string]bool{}, base: map[catalog.WorkspaceID]bool{},
	}
	for range 5 {
		p.users = append(p.users, w.user())
	}
	for range 2 {
		owner := p.users[random.IntN(len(p.users))]
		o, err := w.CreateOrganisation(w.ctx, catalog.NewOrganisation{Name: "o", Owner: owner})
		require.NoError(w, err)
		p.orgs = append(p.orgs, o.ID)
		members := []catalog.UserID{owner}
		for _, user := range p.users {
			if user != owner && random.IntN(3) > 0 {
				_, err := w.AddMember(w.ctx, o.ID, user, catalog.Roles()[random.IntN(4)])
				require.NoError(w, err)
				members = append(members, user)
			}
		}
		for _, user := range members {
			p.isMember[fmt.Sprint(o.ID, user)] = true
		}
		base := w.defaultWorkspace(o.ID)
		p.base[base] = true
		spaces := []catalog.WorkspaceID{base}
		for range 3 {
			var in []catalog.UserID
			for _, user := range members {
				if random.IntN(2) == 0 {
					in = append(in, user)
				}
			}
			space := w.workspace(o.ID, in...)
			spaces = append(spaces, space)
			for _, user := range in {
				p.inSpace[fmt.Sprint(space, user)] = true
			}
		}
		p.spaces = append(p.spaces, spaces...)
		for range 8 {
			var space catalog.WorkspaceID // personal
			if random.IntN(3) > 0 {
				space = spaces[random.IntN(len(spaces))]
			}
			// Few different names, so that slugs are often shared.
			c := w.config(o.ID, members[random.IntN(len(members))], space, fmt.Sprint("Config ", random.IntN(4)))
			p.configs = append(p.configs, c)
			for i := range random.IntN(3) {
				p.tables[c.ID] = append(p.tables[c.ID], w.table(c, fmt.Sprint("t", i)))
			}
		}
	}
	return p
}

func (p *population) viewers() []catalog.Viewer {
	var viewers []catalog.Viewer
	for _, org := range p.orgs {
		viewers = append(viewers, catalog.SystemViewer(org))
		for _, user := range append(p.users, catalog.NewID[catalog.UserID](), "") {
			viewers = append(viewers, catalog.MemberViewer(org, user), catalog.KeyViewer(org, user, ""))
			for _, space := range p.spaces {
				viewers = append(viewers, catalog.KeyViewer(org, user, space))
			}
		}
	}
	return viewers
}

// visibility compares every read path with the oracle, for every viewer.
func visibility(t *testing.T, w *world) {
	random := rand.New(rand.NewPCG(1, 2))
	p := populate(w, random)
	for _, v := range p.viewers() {
		var configs []catalog.ConfigID
		var tables []catalog.TableID
		bySlug := map[string][]catalog.StorageConfig{}
		for _, c := range p.configs {
			if p.sees(v, c) {
				configs = append(configs, c.ID)
				bySlug[c.Slug] = append(bySlug[c.Slug], c)
				for _, table := range p.tables[c.ID] {
					tables = append(tables, table.ID)
				}
			}
		}

		var listed []catalog.ConfigID
		for _, c := range all(w, 3, func(page catalog.Page) (catalog.List[catalog.StorageConfig], error) {
			return w.ListStorageConfigs(w.ctx, v, page)
		}) {
			listed = append(listed, c.ID)
		}
		w.same(sorted(configs), sorted(listed))
		var listedTables []catalog.TableID
		for _, found := range all(w, 4, func(page catalog.Page) (catalog.List[catalog.LocatedTable], error) {
			return w.ListTables(w.ctx, v, catalog.TableFilter{}, page)
		}) {
			require.Equal(t, found.Config, found.StorageConfig.ID)
			listedTables = append(listedTables, found.Table.ID)
		}
		w.same(sorted(tables), sorted(listedTables))

		var names []catalog.TableName
		var want []error
		var ids []catalog.TableID
		expect := func(schema, table string, id catalog.TableID, err error) {
			names = append(names, catalog.TableName{Schema: schema, Table: table})
			want, ids = append(want, err), append(ids, id)
		}
		for _, c := range p.configs {
			_, err := w.StorageConfig(w.ctx, v, c.ID)
			_, schemaErr := w.StorageConfigBySchema(w.ctx, v, c.Schema())
			if p.sees(v, c) {
				require.NoError(t, err)
				require.NoError(t, schemaErr)
			} else {
				require.ErrorIs(t, err, catalog.ErrNotFound)
				require.ErrorIs(t, schemaErr, catalog.ErrNotFound)
			}
			for _, name := range []string{"t0", "T1", "absent"} {
				var id catalog.TableID
				for _, table := range p.tables[c.ID] {
					if p.sees(v, c) && table.Name == catalog.FoldName(name) {
						id = table.ID
					}
				}
				expect(c.Schema(), name, id, errIf(id == "", catalog.ErrNotFound))
				switch same := bySlug[c.Slug]; len(same) {
				case 0:
					expect(c.Slug, name, "", catalog.ErrNotFound)
				case 1:
					var id catalog.TableID
					for _, table := range p.tables[same[0].ID] {
						if table.Name == catalog.FoldName(name) {
							id = table.ID
						}
					}
					expect(c.Slug, name, id, errIf(id == "", catalog.ErrNotFound))
				default:
					expect(c.Slug, name, "", catalog.ErrAmbiguous)
				}
			}
		}
		for slug, same := range bySlug {
			_, err := w.StorageConfigBySchema(w.ctx, v, slug)
			require.ErrorIs(t, err, errIf(len(same) > 1, catalog.ErrAmbiguous))
		}
		answers, err := w.ResolveTables(w.ctx, v, names)
		require.NoError(t, err)
		require.Len(t, answers, len(names))
		for i, answer := range answers {
			require.ErrorIs(t, answer.Err, want[i], "%v as %v", names[i], v)
			require.Equal(t, ids[i], answer.Table.ID, "%v as %v", names[i], v)
		}
	}
}

func errIf(condition bool, err error) error {
	if condition {
		return err
	}
	return nil
}
