"""One Spark session that answers requests until its input ends.

Argument: a JSON object with jars (a list), scratch (a folder), and s3
(endpoint, key, secret, region).
"""
import json
import os
import sys

import canonical
from pyspark.sql import SparkSession
from pyspark.sql.functions import to_json

options = json.loads(sys.argv[1])
os.chdir(options["scratch"])
settings = {
    "spark.jars": ",".join(options["jars"]),
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.memory": "2g", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
    # The tables are tiny: optimizations for large tables would take nearly all of the time.
    "spark.sql.shuffle.partitions": "1", "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
    "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.session.timeZone": "UTC", "spark.sql.warehouse.dir": os.path.join(options["scratch"], "warehouse"),
    # Times before 1900 are written without conversion to the calendar of old writers.
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED", "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.hadoop.fs.s3a.endpoint": options["s3"]["endpoint"], "spark.hadoop.fs.s3a.endpoint.region": options["s3"]["region"],
    "spark.hadoop.fs.s3a.access.key": options["s3"]["key"], "spark.hadoop.fs.s3a.secret.key": options["s3"]["secret"],
    "spark.hadoop.fs.s3a.attempts.maximum": "2", "spark.hadoop.fs.s3a.retry.limit": "2",
    "spark.hadoop.fs.s3a.path.style.access": "true", "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
    # Both need a library that is not installed and that nothing else needs.
    "spark.hadoop.fs.s3a.input.stream.type": "classic", "spark.hadoop.fs.s3a.audit.enabled": "false",
}
builder = SparkSession.builder.master("local[1]")
for name, text in settings.items():
    builder = builder.config(name, text)
spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")


def frame(table, version=None):
    """The table, with variants as JSON text."""
    reader = spark.read.format("delta")
    rows = (reader if version is None else reader.option("versionAsOf", version)).load(table)
    for field in rows.schema.fields:
        if field.dataType.typeName() == "variant":
            rows = rows.withColumn(field.name, to_json(field.name))
    return rows


def copy(table, old, new):
    """The row with one id, with another id."""
    names = ["`" + n.replace("`", "``") + "`" for n in frame(table).columns]
    row = f"SELECT CAST({new} AS BIGINT) AS id"
    if old is None:
        return row + "".join(f", NULL AS {n}" for n in names[1:])
    return f"{row}{''.join(', ' + n for n in names[1:])} FROM delta.`{table}` WHERE id = {old}"


def handle(request):
    table, action = request.get("table", "").replace("s3://", "s3a://"), request["do"]
    old, new = request.get("old"), request.get("new")
    if action == "version":
        return {"version": f"PySpark {spark.version}, {options['delta'].removesuffix('.jar')}"}
    if action == "read":
        return canonical.canonical(frame(table).toArrow())
    if action == "version_rows":
        return canonical.canonical(frame(table, request.get("from", 0)).toArrow())
    if action == "ids":
        return canonical.canonical(frame(table).select("id", "_metadata.row_id", "_metadata.row_commit_version").toArrow())
    if action == "changes":
        feed = spark.read.format("delta").option("readChangeFeed", "true")
        feed = feed.option("startingVersion", request["from"]).option("endingVersion", request["to"]).load(table)
        return canonical.changes(feed.toArrow(), frame(table).columns)
    if action == "append":
        spark.sql(f"INSERT INTO delta.`{table}` {copy(table, old, new)}")
    if action == "merge":  # rewrites the old row to another file and changes the id of the new one
        ids = ([old] if old is not None else []) + [new, new + 1]
        rows = " UNION ALL ".join(copy(table, old, id) for id in ids)
        spark.sql(f"""MERGE INTO delta.`{table}` t USING ({rows}) s ON t.id = s.id WHEN MATCHED AND t.id = {new} THEN DELETE
                      WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""")
    if action == "delete":
        spark.sql(f"DELETE FROM delta.`{table}` WHERE id = {new}")
    if action == "rewrite":  # rewrites all files
        spark.sql(f"OPTIMIZE delta.`{table}` ZORDER BY (id)").collect()
    if action == "sql":
        spark.sql(request["sql"].replace("{table}", f"delta.`{table}`")).collect()
    return {}


canonical.serve(handle)
os._exit(0)
