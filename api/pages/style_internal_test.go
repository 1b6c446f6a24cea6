package pages

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestColoursHaveEnoughContrast computes the contrast of texts and controls as WCAG 2.2
// defines it: 4.5 for texts (1.4.3) and 3 for the borders of controls (1.4.11), in the light
// and in the dark scheme.
func TestColoursHaveEnoughContrast(t *testing.T) {
	light, dark, found := strings.Cut(string(style), "@media (prefers-color-scheme: dark)")
	require.True(t, found)
	for name, css := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6})`).FindAllStringSubmatch(css, -1) {
			if _, known := colours[m[1]]; !known {
				colours[m[1]] = luminance(t, m[2])
			}
		}
		for _, pair := range []struct {
			front, back string
			least       float64
		}{
			{"text", "back", 4.5}, {"soft", "back", 4.5}, {"accent", "back", 4.5}, {"bad", "back", 4.5}, {"on-accent", "accent", 4.5},
			{"line", "back", 3},
		} {
			require.Contains(t, colours, pair.front)
			require.Contains(t, colours, pair.back)
			a, b := colours[pair.front], colours[pair.back]
			contrast := (max(a, b) + 0.05) / (min(a, b) + 0.05)
			require.GreaterOrEqual(t, contrast, pair.least, "%s: %s on %s", name, pair.front, pair.back)
		}
	}
}

// luminance returns the relative luminance of a colour.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		part, err := strconv.ParseUint(colour[2*i:2*i+2], 16, 8)
		require.NoError(t, err)
		linear := float64(part) / 255 / 12.92
		if part > 10 {
			linear = math.Pow((float64(part)/255+0.055)/1.055, 2.4)
		}
		sum += weight * linear
	}
	return sum
}
