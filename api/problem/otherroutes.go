package problem

const tableRoute = "/v1/tables/{catalog}/{schema}/{table_name}"

// otherRoutes maps the first word of a statement that is not supported as SQL to the
// route that has the same effect.
var otherRoutes = map[string]string{
	"INSERT":   "POST " + tableRoute + "/rows inserts rows",
	"UPDATE":   "POST " + tableRoute + "/rows/update updates rows",
	"DELETE":   "POST " + tableRoute + "/rows/delete deletes rows",
	"TRUNCATE": "POST " + tableRoute + "/rows/delete deletes rows",
	"MERGE":    "POST " + tableRoute + "/rows/merge merges rows",
	"COPY":     "POST " + tableRoute + "/rows inserts the rows of a body, and POST /v1/query answers in the format that Accept names",
	"IMPORT":   "POST " + tableRoute + "/rows inserts the rows of a body",
	"EXPORT":   "POST /v1/query answers in the format that Accept names",
	"CREATE":   "POST /v1/tables creates a table",
	"DROP":     "DELETE " + tableRoute + " drops a table",
	"ALTER": "POST " + tableRoute + "/columns adds a column, PATCH " + tableRoute + "/columns/{column} changes one, " +
		"DELETE " + tableRoute + "/columns/{column} drops one, " +
		"PATCH " + tableRoute + "/properties sets properties",
	"COMMENT":  "PATCH " + tableRoute + "/columns/{column} sets the comment of a column",
	"VACUUM":   "POST " + tableRoute + "/vacuum removes files",
	"ATTACH":   "POST /v1/storages/configs registers storage",
	"USE":      "the field schema of the request names the schema of unqualified names",
	"PREPARE":  "the field parameters of the request holds arguments",
	"EXECUTE":  "the field parameters of the request holds arguments",
	"BEGIN":    "each change of rows is a transaction of its own",
	"COMMIT":   "each change of rows is a transaction of its own",
	"ROLLBACK": "each change of rows is a transaction of its own",
}
