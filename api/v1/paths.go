package v1

import (
	"github.com/lakewarden/lakewarden/api/ops/access"
	"github.com/lakewarden/lakewarden/catalog"
)

// TableBase is the path of a table.
const TableBase = "/v1/tables/{catalog}/{schema}/{table_name}"

// TablePath holds the path parameters of a table.
type TablePath struct {
	Catalog   string `path:"catalog" maxLength:"255"`
	Schema    string `path:"schema" maxLength:"255"`
	TableName string `path:"table_name" maxLength:"255"`
}

// Path returns the path for operations.
func (p TablePath) Path() access.Path {
	return access.Path{Catalog: p.Catalog, Schema: p.Schema, Table: p.TableName}
}

// OrgPath holds the path parameter of an organisation.
type OrgPath struct {
	OrgID string `path:"org_id" format:"uuid"`
}

func (in OrgPath) organisation() (catalog.OrgID, error) { return OrgID(in.OrgID) }

// OrgID parses the id of an organisation.
func OrgID(text string) (catalog.OrgID, error) { return catalog.ParseID[catalog.OrgID](text) }

// MemberPath holds the path parameters of a member of an organisation.
type MemberPath struct {
	OrgPath
	UserID string `path:"user_id" format:"uuid"`
}

// IDs parses the ids of the organisation and the user.
func (in MemberPath) IDs() (catalog.OrgID, catalog.UserID, error) {
	org, err := OrgID(in.OrgID)
	if err != nil {
		return "", "", err
	}
	user, err := catalog.ParseID[catalog.UserID](in.UserID)
	return org, user, err
}
