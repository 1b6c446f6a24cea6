package functions

import (
	"strings"

	"github.com/lakewarden/lakewarden/engine/sqltree"
)

// aggregates are the aggregates that users may call.
var aggregates = sqltree.Set(strings.Fields(`any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max
	arg_max_null arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or bit_xor
	bitstring_agg bool_and bool_or corr count count_if count_star countif covar_pop covar_samp entropy favg first fsum
	group_concat histogram histogram_exact json_group_array json_group_object json_group_structure kahan_sum kurtosis
	kurtosis_pop last list listagg mad max max_by mean median min min_by mode product quantile quantile_cont quantile_disc
	regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile sem
	skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop var_samp variance wavg weighted_avg`)...)

// IsAggregate reports whether n is a call of an aggregate.
func IsAggregate(n *sqltree.Node) bool {
	return n.Is("class", "FUNCTION") && !n.Flag("is_operator") && aggregates[n.Function()]
}

// IsWindow reports whether n is a window function.
func IsWindow(n *sqltree.Node) bool { return n.Is("class", "WINDOW") }

var lambdaFunctions = sqltree.Set("list_transform", "list_apply", "array_transform", "array_apply", "apply",
	"list_filter", "array_filter", "filter", "list_reduce", "array_reduce", "reduce")

// TakesLambda reports whether n is a call of a list function with a lambda.
func TakesLambda(n *sqltree.Node) bool {
	if !lambdaFunctions[n.Function()] {
		return false
	}
	for c := range n.Each("children") {
		if c.Is("class", "LAMBDA") {
			return true
		}
	}
	return false
}

// BareWords are the names that DuckDB calls as functions when no column of
// that name exists.
var BareWords = map[string]string{
	"current_user": "user", "user": "user", "session_user": "user", "current_role": "user",
	"current_catalog": "catalog", "current_schema": "schema",
	"current_date": "volatile", "current_time": "volatile", "current_timestamp": "volatile",
	"localtime": "volatile", "localtimestamp": "volatile",
}
