package scan

/*
#include <stdlib.h>
extern void lakewardenIsDeleted(void *info, void *input, void *output);
*/
import "C"

import (
	"runtime/cgo"
	"strconv"
	"sync"
	"unsafe"

	duck "github.com/duckdb/duckdb-go-bindings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/delta/deletion"
	"github.com/lakewarden/lakewarden/engine/duckdb/native"
)

// isDeleted is the SQL function by which views exclude deleted rows. Its arguments are the
// number of the list, of the file in the list and of the row in the file. A join with the
// positions would not keep the order of rows. User statements cannot call it.
const isDeleted = "lakewarden_is_deleted"

// deletedLists holds the deleted rows of the lists that an instance reads, by numbers that it
// assigns. DuckDB's threads read it.
type deletedLists struct {
	handle cgo.Handle // zero until the engine knows the function

	mu   sync.RWMutex
	last int64
	rows map[int64]map[uint32]*deletion.Rows
}

// maxFileNumber is the greatest number of a file in a list.
const maxFileNumber = 1<<31 - 1

// add decodes the deleted rows of a list and returns its number.
func (d *deletedLists) add(in *native.Instance, deleted []engine.DeletedRows) (int64, error) {
	files := make(map[uint32]*deletion.Rows, len(deleted))
	for _, rows := range deleted {
		set, err := deletion.FromBytes(rows.Rows)
		if err != nil || rows.File < 0 || rows.File > maxFileNumber || files[uint32(rows.File)] != nil {
			return 0, fileSchemaError("deleted rows that are those of no file")
		}
		files[uint32(rows.File)] = set
	}
	// Few instances read such tables; the function is registered on first use.
	if d.handle == 0 {
		if err := d.register(in); err != nil {
			return 0, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rows == nil {
		d.rows = map[int64]map[uint32]*deletion.Rows{}
	}
	d.last++
	d.rows[d.last] = files
	return d.last, nil
}

func (d *deletedLists) drop(list int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.rows, list)
}

func (d *deletedLists) of(list int64) (files map[uint32]*deletion.Rows, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	files, ok = d.rows[list]
	return files, ok
}

// close releases the handle. The instance is closed already.
func (d *deletedLists) close() {
	if d.handle != 0 {
		d.handle.Delete()
		d.handle = 0
	}
}

// register registers the function.
func (d *deletedLists) register(in *native.Instance) error {
	f := duck.CreateScalarFunction()
	defer duck.DestroyScalarFunction(&f)
	duck.ScalarFunctionSetName(f, isDeleted)
	for _, t := range []duck.Type{duck.TypeBigInt, duck.TypeUInteger, duck.TypeBigInt} {
		parameter := duck.CreateLogicalType(t)
		duck.ScalarFunctionAddParameter(f, parameter)
		duck.DestroyLogicalType(&parameter)
	}
	result := duck.CreateLogicalType(duck.TypeBoolean)
	defer duck.DestroyLogicalType(&result)
	duck.ScalarFunctionSetReturnType(f, result)
	handle := cgo.NewHandle(d)
	// DuckDB holds a pointer to C memory, which it frees with the function.
	kept := C.malloc(C.size_t(unsafe.Sizeof(handle)))
	*(*cgo.Handle)(kept) = handle
	duck.ScalarFunctionSetExtraInfo(f, kept, C.free)
	duck.ScalarFunctionSetFunction(f, C.lakewardenIsDeleted)
	if err := in.Register(f, isDeleted); err != nil {
		handle.Delete()
		return err
	}
	d.handle = handle
	return nil
}

// notDeleted returns the SQL condition that a row of the scan is not deleted.
func notDeleted(list int64) string {
	return "NOT system.main." + isDeleted + "(" + strconv.FormatInt(list, 10) + "::BIGINT, f." + fileIndex + "::UINTEGER, f." + fileRow + ")"
}

// lakewardenIsDeleted computes [isDeleted] for a chunk of rows, whose columns are flat. A list
// that was dropped is an error: its deleted rows must not reappear.
//
//export lakewardenIsDeleted
func lakewardenIsDeleted(info, input, output unsafe.Pointer) {
	function, chunk := duck.FunctionInfo{Ptr: info}, duck.DataChunk{Ptr: input}
	n := int(duck.DataChunkGetSize(chunk))
	if n == 0 {
		return
	}
	lists := native.Column[int64](chunk, 0, n)
	files, rows := native.Column[uint32](chunk, 1, n), native.Column[int64](chunk, 2, n)
	gone := unsafe.Slice((*bool)(duck.VectorGetData(duck.Vector{Ptr: output})), n)
	d, known := (*(*cgo.Handle)(duck.ScalarFunctionGetExtraInfo(function))).Value().(*deletedLists)
	deleted, listed := map[uint32]*deletion.Rows(nil), false
	if known {
		deleted, listed = d.of(lists[0])
	}
	if !listed {
		duck.ScalarFunctionSetError(function, "deleted rows of an unknown list")
		return
	}
	for from := 0; from < n; {
		to := from + 1
		for to < n && files[to] == files[from] {
			to++
		}
		if set := deleted[files[from]]; set != nil {
			set.Mark(rows[from:to], gone[from:to])
		} else {
			clear(gone[from:to])
		}
		from = to
	}
}
