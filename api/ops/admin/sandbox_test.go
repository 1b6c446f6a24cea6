package admin_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/api/ops/admin"
	"github.com/lakewarden/lakewarden/catalog"
)

// purgedSandboxes is a catalog of purged organisations.
type purgedSandboxes struct {
	purged    []catalog.PurgedSandbox
	forgotten []catalog.OrgID
}

func (p *purgedSandboxes) PurgedSandboxes(_ context.Context, after catalog.OrgID, limit int) (page []catalog.PurgedSandbox, _ error) {
	for _, purged := range p.purged {
		if (after == "" || purged.Org > after) && !slices.Contains(p.forgotten, purged.Org) {
			page = append(page, purged)
		}
	}
	slices.SortFunc(page, func(a, b catalog.PurgedSandbox) int { return cmp.Compare(a.Org, b.Org) })
	return page[:min(limit, len(page))], nil
}

func (p *purgedSandboxes) ForgetSandbox(_ context.Context, org catalog.OrgID) error {
	p.forgotten = append(p.forgotten, org)
	return nil
}

// TestFoldersOfPurgedSandboxes checks that exactly the folders that the server made for
// purged organisations are deleted, and that a folder elsewhere is not.
func TestFoldersOfPurgedSandboxes(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	root := filepath.Join(dir, "sandboxes")
	write := func(elements ...string) (path string) {
		path = filepath.Join(elements...)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		return path
	}
	write(root, "purged", "t", "part")
	live := write(root, "live", "part")
	linked, moved := write(dir, "linked", "part"), write(root, "moved", "part")
	require.NoError(t, os.Symlink(filepath.Dir(linked), filepath.Join(root, "link")))
	require.NoError(t, os.Symlink(filepath.Dir(live), filepath.Join(root, "alias")))
	require.NoError(t, os.Symlink(filepath.Dir(linked), filepath.Join(root, "purged", "link")))
	at := func(org string, elements ...string) catalog.PurgedSandbox {
		return catalog.PurgedSandbox{Org: catalog.OrgID(org), Location: catalog.NewLocation("file", elements...)}
	}
	store := &purgedSandboxes{purged: []catalog.PurgedSandbox{
		at("link", root, "link"), at("alias", root, "alias"), at("moved", dir, "former", "moved"), at("../linked", root, "..", "linked"),
		at("", root), at("purged", root, "purged"), at("gone", root, "gone"),
	}}
	err = admin.PurgedSandboxes{Store: store, Root: root}.Sweep(t.Context())
	for _, refused := range []string{"link", "alias", "moved", "../linked"} {
		require.ErrorContains(t, err, "sandbox of "+refused+":")
	}
	require.Equal(t, []catalog.OrgID{"gone", "purged"}, store.forgotten)
	require.NoDirExists(t, filepath.Join(root, "purged"))
	for _, file := range []string{live, linked, moved} {
		require.FileExists(t, file)
	}
}

// TestStuckFoldersOfPurgedSandboxesHideNoOthers checks that any number of folders that cannot be
// deleted does not keep later ones from being deleted.
func TestStuckFoldersOfPurgedSandboxesHideNoOthers(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(root, "later"), 0o750))
	store := &purgedSandboxes{purged: []catalog.PurgedSandbox{{Org: "later", Location: catalog.NewLocation("file", root, "later")}}}
	for i := range 250 {
		org := fmt.Sprintf("elsewhere%03d", i)
		store.purged = append(store.purged, catalog.PurgedSandbox{Org: catalog.OrgID(org), Location: catalog.NewLocation("file", "former", org)})
	}
	for range 2 {
		require.ErrorContains(t, admin.PurgedSandboxes{Store: store, Root: root}.Sweep(t.Context()), "sandbox of elsewhere249:")
	}
	require.Equal(t, []catalog.OrgID{"later"}, store.forgotten)
	require.NoDirExists(t, filepath.Join(root, "later"))
}
