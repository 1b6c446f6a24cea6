package variant

/*
extern void lakewardenVariantText(void *info, void *input, void *output);
*/
import "C"

import (
	"unsafe"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// variantFunction is the SQL function that returns a variant as JSON text. DuckDB's own casts
// write small decimals, NaN and the infinities in forms that are not JSON, and bytes as SQL
// literals. User statements cannot call the function.
//
// Its arguments are the variant in the encoding of Parquet, and whether that variant is
// an object that holds the encoding of the actual value: see [variantText.unwrap]. A JSON
// null becomes NULL, because DuckDB reads both as the same value.
const variantFunction = "lakewarden_variant_text"

// SQL returns SQL for a variant as text. wrapped is the function's second
// argument in SQL.
func SQL(value, wrapped string) string {
	return "system.main." + variantFunction + "(system.main.variant_to_parquet_variant(" + value +
		`)::STRUCT(metadata BLOB, "value" BLOB), ` + wrapped + ")"
}

// Register registers [variantFunction] with an instance.
func Register(in *native.Instance) error {
	f := duck.CreateScalarFunction()
	defer duck.DestroyScalarFunction(&f)
	duck.ScalarFunctionSetName(f, variantFunction)
	blob, boolean, text := duck.CreateLogicalType(duck.TypeBlob), duck.CreateLogicalType(duck.TypeBoolean),
		duck.CreateLogicalType(duck.TypeVarchar)
	parts := duck.CreateStructType([]duck.LogicalType{blob, blob}, []string{"metadata", "value"})
	for _, t := range []*duck.LogicalType{&blob, &boolean, &text, &parts} {
		defer duck.DestroyLogicalType(t)
	}
	duck.ScalarFunctionAddParameter(f, parts)
	duck.ScalarFunctionAddParameter(f, boolean)
	duck.ScalarFunctionSetReturnType(f, text)
	duck.ScalarFunctionSetSpecialHandling(f)
	duck.ScalarFunctionSetFunction(f, C.lakewardenVariantText)
	return in.Register(f, variantFunction)
}

// lakewardenVariantText computes [variantFunction] for a chunk of rows, whose columns are
// flat.
//
//export lakewardenVariantText
func lakewardenVariantText(info, input, output unsafe.Pointer) {
	chunk, out := duck.DataChunk{Ptr: input}, duck.Vector{Ptr: output}
	n := int(duck.DataChunkGetSize(chunk))
	if n == 0 {
		return
	}
	parts := duck.DataChunkGetVector(chunk, 0)
	metadata, value := newBlobs(duck.StructVectorGetChild(parts, 0), n), newBlobs(duck.StructVectorGetChild(parts, 1), n)
	wrapped := native.Column[bool](chunk, 1, n)
	present := duck.VectorGetValidity(parts)
	duck.VectorEnsureValidityWritable(out)
	valid := duck.VectorGetValidity(out)
	var decoder variantText
	var text []byte
	for row := range n {
		at := duck.IdxT(row)
		if present != nil && !duck.ValidityRowIsValid(present, at) || !metadata.valid(at) || !value.valid(at) {
			duck.ValiditySetRowInvalid(valid, at)
			continue
		}
		m, v, err := metadata.bytes(row), value.bytes(row), error(nil)
		if wrapped[row] && !isVariantNull(v) {
			m, v, err = decoder.unwrap(m, v)
		}
		if err == nil && isVariantNull(v) {
			duck.ValiditySetRowInvalid(valid, at)
			continue
		}
		if err == nil {
			text, err = decoder.appendJSON(text[:0], m, v)
		}
		if err != nil {
			duck.ScalarFunctionSetError(duck.FunctionInfo{Ptr: info}, err.Error())
			return
		}
		duck.VectorAssignStringElementLen(out, at, text)
	}
}

// blobs is a flat vector of type BLOB.
type blobs struct {
	validity unsafe.Pointer
	data     []duck.StringT
}

func newBlobs(v duck.Vector, n int) blobs {
	return blobs{duck.VectorGetValidity(v), unsafe.Slice((*duck.StringT)(duck.VectorGetData(v)), n)}
}

func (b blobs) valid(row duck.IdxT) bool {
	return b.validity == nil || duck.ValidityRowIsValid(b.validity, row)
}

// bytes returns a copy of an element.
func (b blobs) bytes(row int) []byte { return []byte(duck.StringTData(&b.data[row])) }
