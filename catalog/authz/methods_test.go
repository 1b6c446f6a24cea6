package authz_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/auth"
	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/authz"
)

// method is the authorisation case of one method of the store.
type method struct {
	call func(f *fixture, ctx context.Context) error
	// allowed are people for whom the call succeeds. All other people of the
	// fixture are denied, with this error.
	allowed []string
	denied  error
	// unscoped reports that a credential without any scope may make the call, and
	// orgless that a person in no organisation may, too.
	unscoped, orgless bool
	// elsewhere reports that the call does not concern the fixture's organisation, so
	// that an outsider is no exception.
	elsewhere bool
}

func drop[T any](_ T, err error) error { return err }

var (
	admins   = []string{"owner", "admin"}
	builders = []string{"owner", "admin", "builder"}
)

var otherMethods = map[string]method{
	"CreateOrganisation": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "n", Owner: f.users["viewer"]}))
		},
		allowed: []string{"viewer"}, denied: catalog.ErrDenied, elsewhere: true,
	},
	"Organisation": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.Organisation(ctx, f.org)) },
		allowed: everyone,
	},
	"ListOrganisations": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListOrganisations(ctx, catalog.Page{}))
		},
		denied: catalog.ErrDenied,
	},
	"UpdateOrganisation": {
		call: func(f *fixture, ctx context.Context) error {
			name := "n"
			return drop(f.store.UpdateOrganisation(ctx, f.org, 1, catalog.OrganisationChange{Name: &name}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"DeleteOrganisation": {
		call:    func(f *fixture, ctx context.Context) error { return f.store.DeleteOrganisation(ctx, f.org, 1) },
		allowed: []string{"owner"}, denied: catalog.ErrDenied,
	},
	"CreateUser": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateUser(ctx, catalog.NewUser{Email: "new@example.com"}))
		},
		denied: catalog.ErrDenied,
	},
	"User": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.User(ctx, f.users["viewer"])) },
		allowed: []string{"viewer"}, denied: catalog.ErrNotFound,
	},
	"UserByEmail": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.UserByEmail(ctx, "viewer@example.com"))
		},
		denied: catalog.ErrDenied,
	},
	"UpdateUser": {
		call: func(f *fixture, ctx context.Context) error {
			name := "n"
			return drop(f.store.UpdateUser(ctx, f.users["viewer"], 1, catalog.UserChange{DisplayName: &name}))
		},
		allowed: []string{"viewer"}, denied: catalog.ErrNotFound,
	},
	"AddMember": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.AddMember(ctx, f.org, f.users["outsider"], catalog.RoleAdmin))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"Membership": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.Membership(ctx, f.org, f.users["viewer"]))
		},
		allowed: everyone,
	},
	"ListMembers": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListMembers(ctx, f.org, catalog.Page{}))
		},
		allowed: everyone,
	},
	"SetMemberRole": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.SetMemberRole(ctx, f.org, f.users["viewer"], catalog.RoleEditor))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"RemoveMember": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.RemoveMember(ctx, f.org, f.users["viewer"])
		},
		allowed: append([]string{"viewer"}, admins...), denied: catalog.ErrDenied,
	},
	"ReplaceAttributes": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ReplaceAttributes(ctx, f.org, f.actor(ctx), map[string]string{"team": "all"}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"ChangeAttributes": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ChangeAttributes(ctx, f.org, f.users["viewer"], map[string]*string{"team": nil}))
		},
		denied: catalog.ErrDenied,
	},
	"CreateWorkspace": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreateWorkspace(ctx, catalog.NewWorkspace{Org: f.org, Name: "n", Creator: f.actor(ctx)}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"Workspace": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.Workspace(ctx, f.org, f.space)) },
		allowed: []string{"owner", "admin", "builder", "editor", "curator"}, denied: catalog.ErrNotFound,
	},
	"DefaultWorkspace": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.DefaultWorkspace(ctx, f.org)) },
		allowed: everyone,
	},
	"ListWorkspaces": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListWorkspaces(ctx, f.org, catalog.WorkspaceFilter{}, catalog.Page{}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"UpdateWorkspace": {
		call: func(f *fixture, ctx context.Context) error {
			name := "n"
			err := drop(f.store.UpdateWorkspace(ctx, f.org, f.space, 1, catalog.WorkspaceChange{Name: &name}))
			return hiddenAsDenied(ctx, f, err)
		},
		allowed: []string{"owner", "admin", "curator"}, denied: catalog.ErrDenied,
	},
	"DeleteWorkspace": {
		call: func(f *fixture, ctx context.Context) error {
			return hiddenAsDenied(ctx, f, f.store.DeleteWorkspace(ctx, f.org, f.empty, 1))
		},
		allowed: []string{"owner", "admin", "curator"}, denied: catalog.ErrDenied,
	},
	"SetWorkspaceMember": {
		call: func(f *fixture, ctx context.Context) error {
			err := drop(f.store.SetWorkspaceMember(ctx, f.org, f.space, f.users["viewer"], catalog.RoleAdmin))
			return hiddenAsDenied(ctx, f, err)
		},
		allowed: []string{"owner", "admin", "curator"}, denied: catalog.ErrDenied,
	},
	"RemoveWorkspaceMember": {
		call: func(f *fixture, ctx context.Context) error {
			return hiddenAsDenied(ctx, f, f.store.RemoveWorkspaceMember(ctx, f.org, f.space, f.users["editor"]))
		},
		allowed: []string{"owner", "admin", "curator"}, denied: catalog.ErrDenied,
	},
	"ListWorkspaceMembers": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListWorkspaceMembers(ctx, f.org, f.space, catalog.Page{}))
		},
		allowed: []string{"owner", "admin", "builder", "editor", "curator"}, denied: catalog.ErrNotFound,
	},
	"WorkspaceRole": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.WorkspaceRole(ctx, f.org, f.base, f.users["viewer"]))
		},
		allowed: []string{"owner", "admin", "viewer"}, denied: catalog.ErrDenied,
	},
	"CreateStorageConfig": {
		call: func(f *fixture, ctx context.Context) error {
			n := f.configInput("", "owner", "new")
			n.Owner = f.actor(ctx)
			return drop(f.store.CreateStorageConfig(ctx, n))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"StorageConfig": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.StorageConfig(ctx, f.viewer(ctx), f.config.ID))
		},
		allowed: everyone,
	},
	"StorageConfigBySchema": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.StorageConfigBySchema(ctx, f.viewer(ctx), f.config.Schema()))
		},
		allowed: everyone,
	},
	"ListStorageConfigs": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListStorageConfigs(ctx, f.viewer(ctx), catalog.Page{}))
		},
		allowed: everyone,
	},
	"UpdateStorageConfig": {
		call: func(f *fixture, ctx context.Context) error {
			name := "n"
			return drop(f.store.UpdateStorageConfig(ctx, f.viewer(ctx), f.config.ID, 1, catalog.StorageConfigChange{Name: &name}))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"StorageSecret": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.StorageSecret(ctx, f.org, f.config.ID))
		},
		denied: catalog.ErrDenied,
	},
	"ReplaceStorageSecret": {
		call: func(f *fixture, ctx context.Context) error {
			secret := catalog.StorageSecret{Sealed: []byte("sealed"), AuthMode: "access_key"}
			return drop(f.store.ReplaceStorageSecret(ctx, f.viewer(ctx), f.config.ID, 1, secret))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"DeleteStorageConfig": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.DeleteStorageConfig(ctx, f.viewer(ctx), f.config.ID, 1)
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"RegisterTable": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.RegisterTable(ctx, f.viewer(ctx), catalog.NewTable{Config: f.config.ID, DeltaID: "x", Path: "x"}))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"SyncTables": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.SyncTables(ctx, f.viewer(ctx), f.config.ID, catalog.Discovery{Complete: true}))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"Table": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.Table(ctx, f.viewer(ctx), f.table.ID))
		},
		allowed: everyone,
	},
	"ListTables": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListTables(ctx, f.viewer(ctx), catalog.TableFilter{}, catalog.Page{}))
		},
		allowed: everyone,
	},
	"ResolveTables": {
		call: func(f *fixture, ctx context.Context) error {
			answers, err := f.store.ResolveTables(ctx, f.viewer(ctx), []catalog.TableName{{Schema: "shared", Table: "t"}})
			if err == nil {
				err = answers[0].Err
			}
			return err
		},
		allowed: everyone,
	},
	"ResolveDelta": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ResolveDelta(ctx, f.viewer(ctx), f.table.DeltaID))
		},
		allowed: everyone,
	},
	"RenameTable": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.RenameTable(ctx, f.viewer(ctx), f.table.ID, 1, "n"))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"DropTable": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.DropTable(ctx, f.viewer(ctx), f.table.ID, 1)
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"PurgeTable": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.PurgeTable(ctx, f.viewer(ctx), f.table.ID, 1)
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"AdoptIdentity": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.AdoptIdentity(ctx, f.viewer(ctx), f.changed.ID, catalog.AnyVersion, true, f.actor(ctx)))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"CreatePolicy": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.CreatePolicy(ctx, catalog.NewPolicy{Org: f.org, PolicySpec: spec(), By: f.actor(ctx)}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"Policy": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.Policy(ctx, f.org, f.policy.ID)) },
		allowed: builders, denied: catalog.ErrDenied,
	},
	"ListPolicies": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListPolicies(ctx, f.org, catalog.PolicyFilter{}, catalog.Page{}))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"UpdatePolicy": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.UpdatePolicy(ctx, f.org, f.policy.ID, 1, spec(), f.actor(ctx)))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"DeletePolicy": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.DeletePolicy(ctx, f.org, f.policy.ID, 1, f.actor(ctx))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"PolicyHistory": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.PolicyHistory(ctx, f.org, f.policy.ID, catalog.Page{}))
		},
		allowed: builders, denied: catalog.ErrDenied,
	},
	"EnabledPolicies": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.EnabledPolicies(ctx, f.org, []catalog.DeltaID{f.table.DeltaID}))
		},
		allowed: everyone,
	},
	"DeletedPolicies": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.DeletedPolicies(ctx, f.org, f.table.DeltaID))
		},
		allowed: everyone,
	},
	"BeginWrite": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.BeginWrite(ctx, catalog.NewWrite{Org: f.org, Table: "delta", Kind: catalog.WriteRows}))
		},
		denied: catalog.ErrDenied,
	},
	"RenewWrite": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.RenewWrite(ctx, f.write) },
		denied: catalog.ErrDenied,
	},
	"EndWrite": {
		call:   func(f *fixture, ctx context.Context) error { return f.store.EndWrite(ctx, f.write) },
		denied: catalog.ErrDenied,
	},
	"OldestWrite": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.OldestWrite(ctx, f.org, "delta", time.Now()))
		},
		denied: catalog.ErrDenied,
	},
	"VacuumUnderWay": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.VacuumUnderWay(ctx, f.org, "delta", "", time.Now()))
		},
		denied: catalog.ErrDenied,
	},
	"ClaimWriteKey": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ClaimWriteKey(ctx, f.org, "key", "x"))
		},
		denied: catalog.ErrDenied,
	},
	"SettleWriteKey": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.SettleWriteKey(ctx, f.org, "claimed", emptyReply)
		},
		denied: catalog.ErrDenied,
	},
	"ForgetWriteKeys": {
		call:   func(f *fixture, ctx context.Context) error { return drop(f.store.ForgetWriteKeys(ctx, time.Time{})) },
		denied: catalog.ErrDenied,
	},
	"EndWritesOf": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.EndWritesOf(ctx, "nobody"))
		},
		denied: catalog.ErrDenied,
	},
	"ForgetWrites": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ForgetWrites(ctx, time.Now().Add(-time.Hour)))
		},
		denied: catalog.ErrDenied,
	},
	"AppendAudit": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.AppendAudit(ctx, catalog.AuditEntry{Org: f.org, Action: "a.b", Outcome: catalog.OutcomeAllow})
		},
		denied: catalog.ErrDenied,
	},
	"ListAudit": {
		call: func(f *fixture, ctx context.Context) error {
			return drop(f.store.ListAudit(ctx, f.org, catalog.AuditFilter{}, catalog.Page{}))
		},
		allowed: admins, denied: catalog.ErrDenied,
	},
	"Epoch": {
		call:    func(f *fixture, ctx context.Context) error { return drop(f.store.Epoch(ctx)) },
		allowed: append([]string{"outsider"}, everyone...), unscoped: true, orgless: true,
	},
	"AnnounceCommit": {
		call: func(f *fixture, ctx context.Context) error {
			return f.store.AnnounceCommit(ctx, catalog.CommittedTable{Path: "a"})
		},
		denied: catalog.ErrDenied,
	},
	"WatchCommits": {
		call: func(f *fixture, ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if _, open := <-f.store.WatchCommits(ctx); open {
				return nil
			}
			if _, err := auth.PrincipalFrom(ctx); err != nil {
				return catalog.ErrNoActor // like Watch
			}
			return catalog.ErrDenied
		},
		denied: catalog.ErrDenied,
	},
	"Watch": {
		call: func(f *fixture, ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if _, open := <-f.store.Watch(ctx); open {
				return nil
			}
			if _, err := auth.PrincipalFrom(ctx); err != nil {
				return catalog.ErrNoActor // Watch returns no error; it refuses with a closed channel
			}
			return catalog.ErrDenied
		},
		denied: catalog.ErrDenied,
	},
}

func isNotFound(err error) bool { return errors.Is(err, catalog.ErrNotFound) }

// hiddenAsDenied treats "not found" like "denied", so that one case covers people who
// see the record without the right to change it and people who do not see it.
func hiddenAsDenied(ctx context.Context, f *fixture, err error) error {
	p, actorErr := auth.PrincipalFrom(ctx)
	if actorErr == nil && string(f.org) == p.OrgID.String() && isNotFound(err) {
		return &catalog.DeniedError{Reason: "hidden"}
	}
	return err
}

func TestEveryMethodHasACase(t *testing.T) {
	contract := reflect.TypeFor[catalog.Store]()
	var want, have []string
	for i := range contract.NumMethod() {
		want = append(want, contract.Method(i).Name)
	}
	for name, m := range methods {
		have = append(have, name)
		require.True(t, m.denied != nil || len(m.allowed) >= len(everyone), "%s must name the error for people who are not allowed", name)
	}
	slices.Sort(have)
	slices.Sort(want)
	require.Equal(t, want, have)
}

func TestMethods(t *testing.T) {
	for name, m := range methods {
		t.Run(name, func(t *testing.T) {
			t.Run("no actor", func(t *testing.T) {
				f := newFixture(t)
				before := f.epoch()
				require.ErrorIs(t, m.call(f, context.Background()), catalog.ErrNoActor)
				require.Equal(t, before, f.epoch())
			})
			t.Run("system", func(t *testing.T) {
				require.NoError(t, m.call(newFixture(t), authz.System(context.Background(), "test")))
			})
			denied := newFixture(t) // shared, because refused calls change nothing
			for _, who := range append([]string{"outsider", "nobody"}, everyone...) {
				if slices.Contains(m.allowed, who) {
					t.Run(who+" is allowed", func(t *testing.T) {
						f := newFixture(t)
						require.NoError(t, m.call(f, as(f.people[who])))
					})
					continue
				}
				t.Run(who+" is denied", func(t *testing.T) {
					err := m.call(denied, as(denied.people[who]))
					switch {
					case who == "outsider" || who == "nobody":
						if who == "nobody" && m.unscoped {
							require.NoError(t, err)
							return
						}
						require.True(t, isNotFound(err) || errors.Is(err, catalog.ErrDenied) || errors.Is(err, auth.ErrForbidden), "%v", err)
						if who == "outsider" && m.allowed != nil && !m.elsewhere {
							require.ErrorIs(t, err, catalog.ErrNotFound, "another organisation does not exist")
						}
					default:
						require.ErrorIs(t, err, m.denied)
					}
				})
			}
			t.Run("a person in no organisation", func(t *testing.T) {
				p := denied.people["admin"]
				p.OrgID, p.Role, p.Scopes = uuid.Nil, "", auth.ScopeSet{}
				err := m.call(denied, as(p))
				if m.orgless {
					require.NoError(t, err)
					return
				}
				require.True(t, isNotFound(err) || errors.Is(err, catalog.ErrDenied) || errors.Is(err, auth.ErrForbidden), "%v", err)
			})
			require.Equal(t, newFixture(t).epoch(), denied.epoch(), "a refused call changed something")
		})
	}
}
