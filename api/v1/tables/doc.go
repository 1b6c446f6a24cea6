// Package tables registers the routes of tables: listing, creation and changes of tables,
// their columns, keys and constraints, writes of rows, and maintenance.
//
// What may not go in it: decoding rows. Their bodies go to api/ops unread.
package tables
