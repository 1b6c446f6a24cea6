package people

import (
	"context"

	"github.com/lakewarden/lakewarden/catalog"
	"github.com/lakewarden/lakewarden/catalog/sqlstore/sqldb"
)

const selectOrganisation = `SELECT o.id, o.name, o.owner_user_id, m.role,
	EXISTS (SELECT 1 FROM sso_configs c JOIN email_domains d ON d.org_id = c.org_id WHERE c.org_id = o.id AND d.method <> ''),
	o.created_at, o.deleted_at
	FROM organisations o JOIN memberships m ON m.org_id = o.id`

func scanOrganisation(r sqldb.Row) (o catalog.UserOrganisation, err error) {
	err = r.Scan(&o.ID, &o.Name, &o.Owner, &o.Role, &o.SSORequired, sqldb.Time(&o.CreatedAt), sqldb.Time(&o.DeletedAt))
	return o, err
}

// ListOrganisations lists the organisations of a member, and the deleted ones that the user owns.
func ListOrganisations(ctx context.Context, session sqldb.Session, user catalog.UserID,
	page catalog.Page) (catalog.List[catalog.UserOrganisation], error) {
	order := sqldb.Paging[catalog.UserOrganisation]{
		List: "user organisations", Key: "o.created_at", ID: "o.id", Number: true,
		Position: func(o catalog.UserOrganisation) (string, string) { return sqldb.TimeKey(o.CreatedAt), string(o.ID) },
	}
	var w sqldb.Where
	w.And("m.user_id = ? AND (o.deleted_at IS NULL OR o.owner_user_id = m.user_id)", user)
	return order.Fetch(ctx, session, page, scanOrganisation, selectOrganisation, w)
}
