package sqlstore

// PurgedTables lists the tables from which a purge removes rows.
var PurgedTables = purgedTables
