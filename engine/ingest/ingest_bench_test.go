package ingest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest"
	"github.com/lakewarden/lakewarden/engine/ingest/staging"
	"github.com/lakewarden/lakewarden/engine/sqltype"
)

// benchColumns are those of an order line.
var benchColumns = []engine.Column{
	{Name: "order_id", Type: sqltype.BigInt}, {Name: "line", Type: sqltype.Integer},
	{Name: "quantity", Type: sqltype.MustParse("DECIMAL(12,2)")},
	{Name: "price", Type: sqltype.Double}, {Name: "shipped", Type: sqltype.Date}, {Name: "changed", Type: sqltype.TimestampTZ},
	{Name: "mode", Type: sqltype.Varchar}, {Name: "comment", Type: sqltype.Varchar}, {Name: "returned", Type: sqltype.Boolean},
}

const benchRows = 1_000_000

// BenchmarkStage stages a million rows of nine columns.
func BenchmarkStage(b *testing.B) {
	bodies := map[staging.Format]func() []byte{
		staging.NDJSON: func() []byte {
			return benchText("", `{"order_id":%d,"line":%d,"quantity":%d.%02d,"price":%g,"shipped":"1996-%02d-%02d",`+
				`"changed":"2024-05-06T07:08:%02d.123456Z","mode":%q,"comment":%q,"returned":%v}`+"\n")
		},
		staging.CSV: func() []byte {
			return benchText("order_id,line,quantity,price,shipped,changed,mode,comment,returned\r\n",
				"%d,%d,%d.%02d,%g,1996-%02d-%02d,2024-05-06T07:08:%02d.123456Z,%s,%s,%v\r\n")
		},
		staging.Arrow: benchArrow,
	}
	for _, format := range []staging.Format{staging.NDJSON, staging.CSV, staging.Arrow} {
		b.Run(string(format), func(b *testing.B) {
			body := bodies[format]()
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				staged, err := ingest.Stage(b.Context(), bytes.NewReader(body),
					ingest.Request{Format: format, Columns: benchColumns, Dir: b.TempDir(), ShapeColumn: "shape"})
				require.NoError(b, err)
				require.EqualValues(b, benchRows, staged.Rows)
			}
		})
	}
}

func benchText(head, line string) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := bytes.NewBufferString(head)
	for i := range benchRows {
		fmt.Fprintf(out, line, i, i%7, r.IntN(50), r.IntN(100), float64(r.IntN(1e7))/100, 1+r.IntN(12), 1+r.IntN(28), r.IntN(60),
			[]string{"AIR", "RAIL", "SHIP"}[r.IntN(3)], "carefully final deposits detect slyly again", i%3 == 0)
	}
	return out.Bytes()
}

func benchArrow() []byte {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "order_id", Type: arrow.PrimitiveTypes.Int64}, {Name: "line", Type: arrow.PrimitiveTypes.Int32},
		{Name: "price", Type: arrow.PrimitiveTypes.Float64}, {Name: "comment", Type: arrow.BinaryTypes.String},
	}, nil)
	out := &bytes.Buffer{}
	w := ipc.NewWriter(out, ipc.WithSchema(schema))
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range benchRows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Int32Builder).Append(int32(i % 7))
		b.Field(2).(*array.Float64Builder).Append(float64(i) / 8)
		b.Field(3).(*array.StringBuilder).Append("carefully final deposits detect slyly again")
		if i%10_000 == 9_999 {
			_ = w.Write(b.NewRecordBatch()) // into memory
		}
	}
	_ = w.Close()
	return out.Bytes()
}
