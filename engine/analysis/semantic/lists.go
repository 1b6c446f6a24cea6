package semantic

import (
	"embed"
	"strings"
	"sync"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

// set holds texts in lower case.
type set map[string]bool

func setOf(words ...string) set {
	out := set{}
	for _, w := range words {
		out[w] = true
	}
	return out
}

//go:embed lists/*.txt
var lists embed.FS

// wordList returns the set of a file of lists, whose items are separated by commas.
func wordList(name string) set {
	text, err := lists.ReadFile("lists/" + name + ".txt")
	if err != nil {
		panic(err) // the file is part of the program
	}
	out := set{}
	for item := range strings.SplitSeq(string(text), ",") {
		out[strings.Join(strings.Fields(item), " ")] = true
	}
	return out
}

func (s set) has(text string) bool { return s[strings.ToLower(text)] }

// vocabulary holds the words that are known.
type vocabulary struct {
	countries, countryCodes, languages, states, stateCodes, cities, firstNames, lastNames, colors, genders, months, booleans set
}

// known returns the vocabulary. It is made on first use, because processes that analyse
// nothing start faster without it.
var known = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{
		languages: languageNames(), states: wordList("states"), stateCodes: wordList("statecodes"), cities: wordList("cities"),
		firstNames: wordList("givennames"), lastNames: wordList("familynames"), colors: wordList("colors"),
		genders: setOf("m", "f", "male", "female", "man", "woman", "nonbinary", "non-binary", "x", "other", "diverse", "d", "w",
			"männlich", "weiblich", "divers", "masculin", "féminin", "h", "mujer", "hombre"),
		months: setOf("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
			"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "januar", "februar", "märz", "mai", "juni", "juli",
			"oktober", "dezember", "janvier", "février", "mars", "avril", "juin", "juillet", "août"),
		booleans: setOf("true", "false", "yes", "no", "y", "n", "t", "f", "0", "1", "on", "off", "ja", "nein", "oui", "non", "si", "active",
			"inactive", "enabled", "disabled"),
	}
	v.countries, v.countryCodes = regions()
	return v
})

// regions returns the names and the codes of countries (ISO 3166).
func regions() (names, codes set) {
	names, codes = setOf("usa", "uk", "uae", "england", "scotland", "wales", "south korea", "north korea", "russia", "vietnam", "iran",
		"syria", "czech republic", "turkey", "united states of america", "deutschland", "österreich", "schweiz", "frankreich", "spanien",
		"españa", "italien", "italia", "france", "brasil"), set{}
	regions := display.English.Regions()
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			r, err := language.ParseRegion(string(a) + string(b))
			if err != nil || !r.IsCountry() {
				continue
			}
			names[strings.ToLower(regions.Name(r))] = true
			codes[strings.ToLower(r.String())] = true
			codes[strings.ToLower(r.ISO3())] = true
		}
	}
	delete(codes, "zz")
	return names, codes
}

// languageNames returns the English names of languages (ISO 639), and their own.
func languageNames() set {
	out := set{}
	for _, tag := range display.Supported.Tags() {
		base, _ := tag.Base()
		plain := language.Make(base.String())
		out[strings.ToLower(display.English.Languages().Name(plain))] = true
		out[strings.ToLower(display.Self.Name(plain))] = true
	}
	delete(out, "")
	return out
}

// isLanguageTag reports whether a text is the code of a language, with or without a region.
func isLanguageTag(s string) bool {
	base, _, region := strings.Cut(strings.ReplaceAll(s, "_", "-"), "-")
	if len(base) != 2 || strings.ToLower(base) != base || region && len(s) != 5 {
		return false
	}
	_, err := language.ParseBase(base)
	return err == nil
}
