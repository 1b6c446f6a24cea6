"""splink as the peer of find_duplicates, with the settings of its documentation for Febrl's file of duplicates.

usage: splinkpeer.py TABLE TRUTH

Prints JSON: the F1, precision and recall of the pairs of splink's clusters, and its seconds. Of the thresholds in splink's
documentation the one with the best F1 counts: links at 0.2, 0.5 or 0.95.
"""

import collections
import json
import os
import sys
import time

from deltalake import DeltaTable
import duckdb
from splink import DuckDBAPI, Linker, SettingsCreator, block_on
import splink.comparison_library as cl


def pairs(groups) -> int:
    return sum(n * (n - 1) // 2 for n in groups)


def score(found: dict, truth: list) -> dict:
    """Compares clusters, by id, with the persons: pairs of the same cluster are found, those of the same person are right."""
    right = pairs(collections.Counter((cluster, truth[i - 1]) for i, cluster in found.items()).values())
    reported, real = pairs(collections.Counter(found.values()).values()), pairs(collections.Counter(truth).values())
    precision, recall = right / max(1, reported), right / max(1, real)
    return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / max(1e-9, precision + recall)}


def main(table: str, truth: str) -> None:
    entities = json.loads(open(truth).read())["entities"]
    start = time.perf_counter()
    con = duckdb.connect()
    con.execute("SET enable_progress_bar = false")
    con.register("rows", DeltaTable(table).to_pyarrow_table())
    rules = [block_on(c) for c in ("soc_sec_id", "given_name", "surname", "date_of_birth", "postcode")]
    settings = SettingsCreator(
        unique_id_column_name="id",
        link_type="dedupe_only",
        blocking_rules_to_generate_predictions=rules,
        comparisons=[
            cl.NameComparison("given_name"),
            cl.NameComparison("surname"),
            cl.DateOfBirthComparison("date_of_birth", input_is_string=True, datetime_format="%Y%m%d"),
            cl.DamerauLevenshteinAtThresholds("soc_sec_id", [2]),
            cl.ExactMatch("street_number").configure(term_frequency_adjustments=True),
            cl.ExactMatch("postcode").configure(term_frequency_adjustments=True),
        ],
    )
    api = DuckDBAPI(connection=con)
    linker = Linker(api.register(con.sql("SELECT * FROM rows")), settings, log_level=None)
    linker.training.estimate_probability_two_random_records_match([
        block_on("soc_sec_id"), block_on("given_name", "surname", "date_of_birth"),
        "l.given_name = r.surname and l.surname = r.given_name and l.date_of_birth = r.date_of_birth",
    ], recall=0.9)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=2)
    for column in ("date_of_birth", "postcode"):
        linker.training.estimate_parameters_using_expectation_maximisation(block_on(column))
    links = linker.inference.predict(threshold_match_probability=0.2)
    best, seconds = None, 0.0
    for threshold in (0.95, 0.5, 0.2):
        clusters = linker.clustering.cluster_pairwise_predictions_at_threshold(links, threshold)
        seconds = seconds or time.perf_counter() - start
        found = {row["id"]: row["cluster_id"] for row in clusters.as_record_list()}
        scored = score(found, entities) | {"threshold": threshold}
        best = scored if best is None or scored["f1"] > best["f1"] else best
    print(json.dumps(best | {"seconds": seconds}), flush=True)
    os._exit(0)


main(*sys.argv[1:])
