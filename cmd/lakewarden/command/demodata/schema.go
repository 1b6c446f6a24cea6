package demodata

// Column is one column of a table with the Delta name of its type.
type Column struct{ Name, Type string }

// Columns holds the columns of every table, in order.
var Columns = map[string][]Column{
	"airlines": {{"carrier", "string"}, {"name", "string"}},
	"airports": {
		{"faa", "string"}, {"name", "string"}, {"lat", "double"}, {"lon", "double"}, {"alt", "long"}, {"tz", "long"},
		{"dst", "string"}, {"tzone", "string"},
	},
	"planes": {
		{"tailnum", "string"}, {"year", "long"}, {"type", "string"}, {"manufacturer", "string"}, {"model", "string"},
		{"engines", "long"}, {"seats", "long"}, {"speed", "long"}, {"engine", "string"},
	},
	"models": {{"manufacturer", "string"}, {"model", "string"}},
	"weather": {
		{"origin", "string"}, {"year", "long"}, {"month", "long"}, {"day", "long"}, {"hour", "long"}, {"temp", "double"},
		{"dewp", "double"}, {"humid", "double"}, {"wind_dir", "long"}, {"wind_speed", "double"}, {"wind_gust", "double"},
		{"precip", "double"}, {"pressure", "double"}, {"visib", "double"}, {"time_hour", "timestamp"},
	},
	"flights": {
		{"year", "long"}, {"month", "long"}, {"day", "long"}, {"dep_time", "long"}, {"sched_dep_time", "long"},
		{"dep_delay", "long"}, {"arr_time", "long"}, {"sched_arr_time", "long"}, {"arr_delay", "long"}, {"carrier", "string"},
		{"flight", "long"}, {"tailnum", "string"}, {"origin", "string"}, {"dest", "string"}, {"air_time", "long"},
		{"distance", "long"}, {"hour", "long"}, {"minute", "long"}, {"time_hour", "timestamp"},
	},
}

// PartitionBy holds the partition columns of the tables that have some.
var PartitionBy = map[string][]string{"flights": {"month"}}

// FileOf returns the name of the file in [Files] that holds the rows of a table.
func FileOf(table string) string {
	if table == "models" {
		return "planes.parquet"
	}
	return table + ".parquet"
}

// RowsOf returns the statement, in DuckDB's SQL, that selects the rows of a table from a
// relation over its file.
func RowsOf(table, relation string) string {
	if table == "models" {
		return "SELECT DISTINCT manufacturer, model FROM " + relation + " ORDER BY manufacturer, model"
	}
	return "SELECT * FROM " + relation
}
