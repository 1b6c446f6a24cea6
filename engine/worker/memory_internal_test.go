package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestLedger compares the sums of a process with its accounts.
func TestLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const least = 48 * mib
		g := ledger{base: least}
		accounts := make([]account, 4)
		sizes := rapid.Int64Range(0, 1<<30)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			a := &accounts[rapid.IntRange(0, 3).Draw(t, "session")]
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				g.lend(a, sizes.Draw(t, "lease"))
				g.rest(a, 0)
			case 1:
				g.lend(a, 0)
				g.rest(a, sizes.Draw(t, "resting"))
			case 2:
				g.lend(a, 0)
				g.rest(a, 0)
			case 3:
				before := g.base
				g.resident = sizes.Draw(t, "resident")
				g.measure(least)
				if g.leased > 0 {
					require.GreaterOrEqual(t, g.base, before)
				} else {
					require.Equal(t, max(least, g.resident), g.base)
				}
			}
			var leased, resting, all int64
			for _, a := range accounts {
				leased += a.leased
				all += a.resting
				if a.era == g.era {
					resting += a.resting
				}
			}
			require.Equal(t, leased, g.leased)
			require.Equal(t, resting, g.resting)
			require.Equal(t, all, g.allResting)
			require.GreaterOrEqual(t, g.leased+g.unleased(), g.resident, "what is held is charged to somebody")
			require.LessOrEqual(t, g.limit(), g.base+g.resting+leased*115/100)
		}
	})
}

func TestEngineLimit(t *testing.T) {
	for lease, want := range map[int64]int64{32: 16, 64: 40, 128: 104, 256: 224, 512: 448, 1024: 896} {
		require.Equal(t, want*mib, engineLimit(lease*mib), lease)
	}
}
