package semantic

import (
	"math"
	"slices"
	"strings"
)

// numbers judges numbers.
func numbers(e Evidence, words []string) []Meaning {
	var all []float64
	integers, cents, fine := 0, 0, 0
	for _, v := range e.Values {
		f, ok := number(v.Text)
		if !ok {
			continue
		}
		all = append(all, f)
		_, fraction, found := strings.Cut(strings.TrimRight(v.Text, " "), ".")
		switch {
		case !found || strings.Trim(fraction, "0") == "":
			integers++
			if found {
				cents++
			}
		case len(fraction) <= 2:
			cents++
		case len(strings.TrimRight(fraction, "0")) >= 4:
			fine++
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	low, high, n := all[0], all[len(all)-1], float64(len(all))
	whole := float64(integers) == n
	in := func(from, to float64) float64 {
		if low >= from && high <= to {
			return 1
		}
		return 0
	}
	var out []Meaning
	add := func(t Type, fit, base float64, why string) { out = append(out, weigh(t, fit, base, words, why)) }
	if e.Complete && e.Distinct <= 2 && whole && in(0, 1) == 1 {
		add(Boolean, 1, 0.9, "the values are 0 and 1")
	}
	if whole {
		add(Year, in(1800, 2100), 0.8, "the values are whole numbers between 1800 and 2100")
		add(Month, in(1, 12), monthly(e, low, high), "the values are whole numbers from 1 to 12")
		add(Age, in(0, 120), 0.3, "the values are whole numbers of up to 120")
		add(Ordinal, ordered(e, low, high), 0.55, "the values are few small whole numbers")
		add(Quantity, in(0, 1e9), 0.5, "the values are whole numbers")
		if e.unique() && e.NotNull > 1 {
			add(Identifier, 1, 0.8, "every row has a number of its own")
		} else {
			add(Identifier, 1, 0.2, "the values are whole numbers")
		}
		add(PostalCode, float64(boolOf(named(words, PostalCode) > 0))*in(1000, 99999), 0.5, "the values are numbers of up to 5 digits")
		if low < 0 {
			add(Measurement, 1, 0.45, "the values are numbers of both signs")
		} else {
			add(Measurement, 1, 0.4, "the values are numbers")
		}
		add(Amount, 1, 0.15, "the values are numbers")
		add(Percentage, in(-100, 100), 0.2, "the values are between -100 and 100")
		return out
	}
	detailed := float64(fine) / n
	if detailed > 0.7 {
		latitude, longitude := in(-90, 90), in(-180, 180)
		spread := boolOf(high-low > 5 || math.Abs(low) > 10)
		add(Latitude, latitude, 0.55*float64(spread), "the values are detailed numbers between -90 and 90")
		if high > 90 || low < -90 {
			add(Longitude, longitude, 0.8, "the values are detailed numbers between -180 and 180")
		} else {
			add(Longitude, longitude, 0.4, "the values are detailed numbers between -180 and 180")
		}
	}
	add(Percentage, in(-1, 1), 0.65, "the values are fractions of at most 1")
	add(Percentage, in(-100, 100), 0.35, "the values are between -100 and 100")
	if float64(cents) == n {
		add(Amount, 1, 0.62, "the values have at most two decimals")
		if low < 0 {
			add(Measurement, 1, 0.64, "the values have few decimals and both signs")
		}
	}
	add(Measurement, 1, 0.6, "the values are numbers with decimals")
	return out
}

// monthly returns the confidence, without a name, that numbers from 1 to 12 are months.
func monthly(e Evidence, low, high float64) float64 {
	if e.Distinct == 12 && low == 1 && high == 12 {
		return 0.7
	}
	return 0.2
}

// ordered returns 1 for a few consecutive small numbers.
func ordered(e Evidence, low, high float64) float64 {
	if e.Complete && low >= 0 && high <= 12 && e.Distinct >= 3 && float64(e.Distinct) >= high-low && e.NotNull > 3*e.Distinct {
		return 1
	}
	return 0.3
}

func boolOf(b bool) int {
	if b {
		return 1
	}
	return 0
}
