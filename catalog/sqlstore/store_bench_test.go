package sqlstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/catalogtest/pgtest"
	"github.com/lakewarden/lakewarden/catalog/sqlstore"
)

// BenchmarkQueryPath measures the catalog calls of every statement: the epoch, the
// membership, the names and the policies.
func BenchmarkQueryPath(b *testing.B) {
	for name, target := range map[string]func() string{
		"sqlite":   func() string { return filepath.Join(b.TempDir(), "catalog.db") },
		"postgres": func() string { return pgtest.URL(b) },
	} {
		b.Run(name, func(b *testing.B) {
			ctx := context.Background()
			s := open(b, target(), sqlstore.Options{})
			u, err := s.CreateUser(ctx, catalog.NewUser{Email: "a@example.com"})
			require.NoError(b, err)
			o, err := s.CreateOrganisation(ctx, catalog.NewOrganisation{Name: "o", Owner: u.ID})
			require.NoError(b, err)
			base, err := s.DefaultWorkspace(ctx, o.ID)
			require.NoError(b, err)
			v := catalog.MemberViewer(o.ID, u.ID)
			var names []catalog.TableName
			var ids []catalog.DeltaID
			for i := range 20 { // 20 configurations of 100 tables
				c, err := s.CreateStorageConfig(ctx, catalog.NewStorageConfig{
					Org: o.ID, Owner: u.ID, Workspace: base.ID, Name: fmt.Sprint("c", i), Kind: catalog.KindS3,
					Location: catalog.NewLocation("s3", "e", fmt.Sprint(i)),
				})
				require.NoError(b, err)
				d := catalog.Discovery{Complete: true}
				for j := range 100 {
					d.Found = append(d.Found, catalog.FoundTable{Path: fmt.Sprint("t", j), DeltaID: catalog.DeltaID(fmt.Sprint(i, j))})
				}
				_, err = s.SyncTables(ctx, v, c.ID, d)
				require.NoError(b, err)
				if i < 5 {
					names = append(names, catalog.TableName{Schema: c.Slug, Table: "t7"})
					ids = append(ids, catalog.DeltaID(fmt.Sprint(i, 7)))
				}
				for range 5 {
					_, err = s.CreatePolicy(ctx, catalog.NewPolicy{Org: o.ID, By: u.ID, PolicySpec: catalog.PolicySpec{
						Table: catalog.DeltaID(fmt.Sprint(i, 7)), Kind: catalog.PolicyRows, Text: "permit (principal, action, resource);", Enabled: true,
					}})
					require.NoError(b, err)
				}
			}
			b.Run("epoch", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, err := s.Epoch(ctx)
					require.NoError(b, err)
				}
			})
			b.Run("membership", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, err := s.Membership(ctx, o.ID, u.ID)
					require.NoError(b, err)
				}
			})
			b.Run("resolve 5 names of 2000 tables", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					answers, err := s.ResolveTables(ctx, v, names)
					require.NoError(b, err)
					require.NoError(b, answers[4].Err)
				}
			})
			b.Run("policies of 5 tables", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					found, err := s.EnabledPolicies(ctx, o.ID, ids)
					require.NoError(b, err)
					require.Len(b, found, 25)
				}
			})
			b.Run("list a page of 100 tables", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					found, err := s.ListTables(ctx, v, catalog.TableFilter{}, catalog.Page{})
					require.NoError(b, err)
					require.Len(b, found.Items, 100)
				}
			})
		})
	}
}
