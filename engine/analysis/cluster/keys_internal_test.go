package cluster

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

func TestHashedKeysAreEqualWhereKeysAre(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 19))
	const letters = "aabbAB éÉßñ.-'1 2東,"
	alphabet := []rune(letters)
	var k keyer
	texts := make([]string, 600)
	for i := range texts {
		runes := make([]rune, 1+r.IntN(5))
		for j := range runes {
			runes[j] = alphabet[r.IntN(len(alphabet))]
		}
		texts[i] = string(runes)
	}
	for _, a := range texts {
		for _, b := range texts[:100] {
			x, y := k.keys(a), k.keys(b)
			if x.letters == 0 || y.letters == 0 {
				continue
			}
			pair := fmt.Sprintf("%q %q", a, b)
			require.Equal(t, similarity.Fingerprint(a) == similarity.Fingerprint(b), x.fingerprint == y.fingerprint, pair)
			require.Equal(t, similarity.NGramFingerprint(a, 2) == similarity.NGramFingerprint(b, 2), x.bigrams == y.bigrams, pair)
			require.Equal(t, similarity.NGramFingerprint(a, 1) == similarity.NGramFingerprint(b, 1), x.letters == y.letters, pair)
		}
	}
}

// manyForms returns n distinct names of companies, of which every tenth is a variant of another.
func manyForms(n int) []Form {
	r := rand.New(rand.NewPCG(4, 19))
	syllables := strings.Fields("ka lo mi ne ru sta ver tan gol ber dis fen har jul kor lam mon " +
		"nor pel qui ros sal tor ulm vik wes xan yor zel")
	kinds := strings.Fields("GmbH AG Ltd Inc SA BV Oy AB KG Group Holding Partners")
	seen := map[string]bool{}
	out := make([]Form, 0, n)
	for len(out) < n {
		var b strings.Builder
		for range 3 + r.IntN(3) {
			b.WriteString(syllables[r.IntN(len(syllables))])
		}
		name := strings.ToUpper(b.String()[:1]) + b.String()[1:] + " " + kinds[r.IntN(len(kinds))]
		for i, form := range []string{name, strings.ToUpper(name), strings.Replace(name, " ", "  ", 1)} {
			if i > 0 && r.IntN(20) > 0 || seen[form] || len(out) == n {
				continue
			}
			seen[form] = true
			out = append(out, Form{form, 1 + int64(r.IntN(1+n/(len(out)+1)))})
		}
	}
	slices.SortFunc(out, func(a, b Form) int { return cmp.Or(cmp.Compare(b.Rows, a.Rows), strings.Compare(a.Text, b.Text)) })
	return out
}

func BenchmarkClustersOf800000Values(b *testing.B) {
	forms := manyForms(800_000)
	b.ReportAllocs()
	for b.Loop() {
		clusters, _ := Of(forms)
		b.ReportMetric(float64(len(clusters)), "clusters")
	}
}
