// Package tables registers the routes of tables: listing, creation and changes of tables, their
// columns, keys and constraints, writes of rows, and maintenance.
// Bodies with rows go to api/ops unread.
package tables
