package similarity_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lakewarden/lakewarden/engine/analysis/similarity"
)

func TestTextsAreFolded(t *testing.T) {
	for in, want := range map[string]string{
		"ABC": "abc", "Éclair": "eclair", "Straße": "strasse", "ﬁn ①": "fin 1", "Łódź": "lodz",
		"Ærø": "aero", "ΑΘΉΝΑ": "αθηνα", "": "",
	} {
		require.Equal(t, want, similarity.Fold(in), in)
	}
	for in, want := range map[string]string{
		"  O'Neil,John ": "oneil john", "U.S.\tSteel": "us steel", "New-York": "new york", "a--b": "a b", "...": "", "C++": "c",
	} {
		require.Equal(t, want, similarity.Normalize(in), in)
	}
}

func TestTextsAlikeHaveEqualKeys(t *testing.T) {
	require.Equal(t, "acme corp inc", similarity.Fingerprint("Acme Corp., Inc. ACME"))
	require.Equal(t, similarity.Fingerprint("Tom Cruise"), similarity.Fingerprint(" Cruise, Tom"))
	require.Equal(t, "arispari", similarity.NGramFingerprint("Paris", 2))
	require.Equal(t, similarity.NGramFingerprint("Krzysztof", 1), similarity.NGramFingerprint("Kryzysztof", 1))
	require.Equal(t, "a", similarity.NGramFingerprint(" a.", 2))
	require.Empty(t, similarity.NGramFingerprint("", 2))
}

func TestTextsThatSoundAlikeHaveEqualKeys(t *testing.T) {
	for _, pair := range [][2]string{
		{"Smith", "Smyth"}, {"Catherine", "Katherine"}, {"Philip", "Filip"}, {"Knight", "Night"}, {"Meyer", "Maier"}, {"Schmidt", "Schmit"},
		{"Stephen", "Steven"}, {"Jackson", "Jaxon"}, {"Wright", "Right"}, {"Thomson", "Thompson"}, {"Rachel", "Rachell"},
	} {
		if pair[0] == "Thomson" {
			require.NotEqual(t, similarity.Phonetic(pair[0]), similarity.Phonetic(pair[1]), "a sounded p")
			continue
		}
		require.Equal(t, similarity.Phonetic(pair[0]), similarity.Phonetic(pair[1]), pair)
	}
	for _, pair := range [][2]string{{"Smith", "Jones"}, {"Anna", "Hanna"}, {"12 High", "21 High"}, {"11", "1"}} {
		require.NotEqual(t, similarity.Phonetic(pair[0]), similarity.Phonetic(pair[1]), pair)
	}
	require.Equal(t, "JN SM0", similarity.Phonetic("John  Smith"))
	require.Empty(t, similarity.Phonetic("Αθήνα"))
}

func TestJaroWinkler(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"MARTHA", "MARHTA", 0.9611}, {"DIXON", "DICKSONX", 0.8133}, {"DWAYNE", "DUANE", 0.84}, {"", "", 1}, {"", "a", 0}, {"a", "b", 0},
		{"é", "é", 1}, {"aé", "éa", 0}, {"jellyfish", "smellyfish", 0.8963},
	} {
		require.InDelta(t, c.want, similarity.JaroWinkler(c.a, c.b), 0.0001, c)
		require.InDelta(t, c.want, similarity.JaroWinkler(c.b, c.a), 0.0001, c)
	}
	require.Less(t, similarity.JaroWinkler(strings.Repeat("a", 300), strings.Repeat("b", 300)), 0.1)
}

func TestDistanceIsThatOfTheWholeMatrix(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		b := make([]rune, random.IntN(9))
		for i := range b {
			b[i] = []rune("abcé")[random.IntN(4)]
		}
		return string(b)
	}
	for range 20000 {
		a, b, limit := text(), text(), random.IntN(6)
		require.Equal(t, min(slow(a, b), limit+1), similarity.Distance(a, b, limit), "%q %q %d", a, b, limit)
	}
	long := strings.Repeat("abc ", 50)
	require.Equal(t, 2, similarity.Distance("x"+long, long+"y", 3))
	require.Equal(t, 1, similarity.Distance("\xff", "\xfe", 3))
}

// slow computes the distance without bounds.
func slow(s, t string) int {
	a, b := []rune(s), []rune(t)
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					d[i][j] = min(d[i][j], d[i-2][j-2]+1)
				}
			}
		}
	}
	return d[len(a)][len(b)]
}

func TestWordsInCommon(t *testing.T) {
	require.InDelta(t, 1, similarity.TokenSet("john smith", "smith john"), 0)
	require.InDelta(t, 0.8, similarity.TokenSet("john smith", "smith john jr"), 0)
	require.InDelta(t, 1, similarity.TokenSet("", ""), 0)
	require.InDelta(t, 0, similarity.TokenSet("a", ""), 0)
}

func TestAbbreviations(t *testing.T) {
	require.Equal(t, "ibm", similarity.Initials("international business machines"))
	for _, yes := range [][2]string{{"ibm", "international business machines"}, {"j smith", "john smith"}, {"jo", "john"}} {
		require.True(t, similarity.Abbreviates(yes[0], yes[1]), yes)
		require.False(t, similarity.Abbreviates(yes[1], yes[0]), yes)
	}
	for _, no := range [][2]string{{"", "a"}, {"a", "a"}, {"j smith", "john a smith"}, {"x", "john smith"}, {"b j", "john brown"}} {
		require.False(t, similarity.Abbreviates(no[0], no[1]), no)
	}
}

func BenchmarkJaroWinkler(b *testing.B) {
	for b.Loop() {
		similarity.JaroWinkler("catherine johnson", "katharine jonson")
	}
}

func BenchmarkDistance(b *testing.B) {
	for b.Loop() {
		similarity.Distance("catherine johnson", "katharine jonson", 4)
	}
}

func BenchmarkPhonetic(b *testing.B) {
	for b.Loop() {
		similarity.Phonetic("Catherine Johnson")
	}
}
