package semantic

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// Meaning is a type with the confidence that it is the right one, from 0 to 1.
type Meaning struct {
	Type       Type
	Confidence float64
	// Why is a clause that says what speaks for it.
	Why string
}

// Decide returns the most likely meaning of a column.
func Decide(e Evidence) Meaning {
	words := analysis.Words(e.Name)
	if len(e.Values) == 0 {
		if m := byName(words); m.Type != Unknown {
			return m
		}
		return Meaning{Type: Unknown, Why: "the column has no values"}
	}
	var candidates []Meaning
	switch e.Kind {
	case analysis.KindBoolean:
		return Meaning{Boolean, 0.99, "the type is BOOLEAN"}
	case analysis.KindDate, analysis.KindTimestamp:
		candidates = times(e, words)
	case analysis.KindInteger, analysis.KindDecimal, analysis.KindFloat:
		candidates = numbers(e, words)
	default:
		candidates = texts(e, words)
		if evident := len(evidently(e, words)) > 0; !evident && e.share(isNumber) > 0.98 {
			candidates = append(candidates, numbers(e, words)...)
		}
	}
	best := Meaning{Type: Unknown, Why: "no meaning fits the values"}
	for _, m := range candidates {
		if m.Confidence > best.Confidence {
			best = m
		}
	}
	best.Confidence = analysis.RoundConfidence(min(best.Confidence, 0.99))
	return best
}

// byName returns the meaning of a name alone.
func byName(words []string) Meaning {
	best := Meaning{Type: Unknown}
	for _, t := range slices.Sorted(slices.Values(allTypes)) {
		if s := named(words, t) * 0.6; s > best.Confidence {
			best = Meaning{t, s, "the name of the column says so"}
		}
	}
	return best
}

var allTypes = func() []Type {
	var out []Type
	for t := range headerWords {
		out = append(out, t)
	}
	return out
}()

// weigh combines the evidence of the values, fit and base, with that of the name.
func weigh(t Type, fit, base float64, words []string, why string) Meaning {
	if fit == 0 {
		return Meaning{Type: Unknown}
	}
	name := named(words, t)
	if name > 0 {
		why += ", and so does the name of the column"
	}
	return Meaning{t, fit * (base + (1-base)*name), why}
}

func times(e Evidence, words []string) []Meaning {
	midnight := e.share(func(s string) bool { return len(s) == 10 || strings.HasSuffix(s, "00:00:00") })
	if e.Kind == analysis.KindDate || midnight > 0.99 {
		out := []Meaning{{Date, 0.9, "the values are days"}}
		if n := named(words, DateOfBirth); n > 0.6 {
			out = append(out, Meaning{DateOfBirth, 0.9 + n/20, "the values are days, and the name of the column says what they are"})
		}
		return append(out, births(e)...)
	}
	return []Meaning{{Timestamp, 0.95, "the values are times"}}
}

// births recognises days of birth: they are spread over decades and end well before the
// newest years.
func births(e Evidence) []Meaning {
	var years []int
	for _, v := range e.Values {
		if len(v.Text) >= 4 && isInteger(v.Text[:4]) {
			n, _ := number(v.Text[:4])
			years = append(years, int(n))
		}
	}
	if len(years) < 30 {
		return nil
	}
	slices.Sort(years)
	low, middle, high := years[len(years)/20], years[len(years)/2], years[len(years)*19/20]
	if low >= 1915 && low <= 1975 && high-low >= 25 && middle <= 2000 && high <= 2012 {
		return []Meaning{{DateOfBirth, 0.92, "the values are days spread over decades, as births are"}}
	}
	return nil
}

// selfEvident are the types whose values show what they are.
var selfEvident = sync.OnceValue(func() []form {
	return []form{
		{UUID, uuidForm.MatchString, 0.9, "the values have the form of UUIDs"},
		{Email, isEmail, 0.8, "the values have the form of e-mail addresses"},
		{URL, isURL, 0.8, "the values have the form of URLs"},
		{IPAddress, isIP, 0.8, "the values are IP addresses"},
		{IBAN, isIBAN, 0.8, "the checksums of IBANs are right"},
		{CreditCard, isCard, 0.8, "the checksums of card numbers are right"},
		{SocialSecurity, isSSN, 0.85, "the values have the form of social security numbers"},
		{Timestamp, isTime, 0.8, "the values are times"},
		{Date, isDate, 0.8, "the values are days"},
		{Color, hexColor.MatchString, 0.8, "the values are codes of colours"},
		{Percentage, percent.MatchString, 0.8, "the values have percent signs"},
		{Amount, money.MatchString, 0.8, "the values have signs of currencies"},
		{Measurement, withUnit.MatchString, 0.8, "the values have units"},
		{FilePath, func(s string) bool {
			return pathForm.MatchString(s) && !isDate(s) && !isURL(s) || fileForm.MatchString(s)
		}, 0.8,
			"the values have the form of paths"},
		{CurrencyCode, isCurrency, 0.95, "the values are codes of currencies"},
		{Phone, isPhone, 0.8, "the values have the form of phone numbers"},
		{Boolean, known().booleans.has, 0.99, "the values are words for yes and no"},
		{Gender, known().genders.has, 0.97, "the values are words for genders"},
		{Month, known().months.has, 0.95, "the values are names of months"},
		{Country, known().countries.has, 0.75, "the values are names of countries"},
		{Language, known().languages.has, 0.75, "the values are names of languages"},
		{State, known().states.has, 0.75, "the values are names of states"},
		{Color, func(s string) bool { return known().colors.has(s) || known().colors.has(lastWord(s)) }, 0.75, "the values are names of colours"},
	}
})

// form is a type whose values have a form of their own.
type form struct {
	t    Type
	is   func(string) bool
	from float64
	why  string
}

func lastWord(s string) string { return s[strings.LastIndexByte(s, ' ')+1:] }

// evidently returns the meanings that the forms of the values show.
func evidently(e Evidence, words []string) []Meaning {
	var out []Meaning
	for i, c := range selfEvident() {
		if share := e.share(c.is); share >= c.from {
			// The earlier of two that fit alike is the more specific one.
			out = append(out, Meaning{c.t, 0.985*share - 0.002*float64(i) + 0.004*named(words, c.t), c.why})
		}
	}
	for i := range out {
		if out[i].Type == Boolean && e.Distinct > 2 || out[i].Type == Gender && e.Distinct < 2 {
			out[i].Confidence *= 0.5
		}
	}
	return out
}

// texts judges texts.
func texts(e Evidence, words []string) []Meaning {
	out := evidently(e, words)
	if e.share(isDate) >= 0.8 {
		dates := e
		dates.Values = slices.Clone(e.Values)
		for i := range dates.Values {
			dates.Values[i].Text = yearFirst(dates.Values[i].Text)
		}
		for _, m := range births(dates) {
			m.Confidence = 0.985
			out = append(out, m)
		}
		if n := named(words, DateOfBirth); n > 0.6 {
			out = append(out, Meaning{DateOfBirth, 0.985 + n/200, "the values are days, and the name of the column says what they are"})
		}
	}
	out = append(out, codes(e, words)...)
	return append(out, names(e, words)...)
}

// yearFirst returns the year of a day as text, or the text itself.
func yearFirst(s string) string {
	for i := 0; i+4 <= len(s); i++ {
		if y := s[i : i+4]; isInteger(y) && y >= "1800" && y <= "2100" {
			return y
		}
	}
	return s
}

// codes judges short texts of capitals and digits.
func codes(e Evidence, words []string) []Meaning {
	var out []Meaning
	add := func(t Type, fit, base float64, why string) { out = append(out, weigh(t, fit, base, words, why)) }
	upper := e.share(func(s string) bool { return strings.ToUpper(s) == s })
	short := e.share(func(s string) bool { return len(s) <= 3 })
	if upper > 0.98 && short > 0.98 {
		ofCountries, ofStates := e.share(known().countryCodes.has), e.share(known().stateCodes.has)
		if named(words, State) == 0 && ofStates < 0.9 || ofCountries > ofStates {
			add(CountryCode, threshold(ofCountries, 0.95), 0.93, "the values are codes of countries")
		}
		if e.share(usState.MatchString) > 0.98 {
			add(State, threshold(ofStates, 0.9), 0.96, "the values are codes of states")
		}
	}
	add(Language, threshold(e.share(isLanguageTag), 0.95), 0.94, "the values are codes of languages")
	if fit := e.share(postalForms.MatchString); fit > 0.9 {
		base := 0.55
		mixed := e.share(func(s string) bool { return strings.IndexFunc(s, unicode.IsLetter) >= 0 && digitsOf(s) != "" })
		if mixed > 0.8 && e.share(lengthBelow(9)) > 0.9 {
			base = 0.8 // the letters and digits of few countries
		} else if e.share(isInteger) > 0.98 && (leadingZeros(e) || e.share(func(s string) bool { return len(s) == 5 }) > 0.98) {
			base = 0.84
		}
		add(PostalCode, fit, base, "the values have the form of postal codes")
	}
	spaceless := e.share(func(s string) bool { return codeForm.MatchString(s) })
	digits := e.share(func(s string) bool { return digitsOf(s) != "" })
	if spaceless > 0.95 && (digits > 0.9 || upper > 0.98 && short > 0.9) {
		base := 0.62
		if e.unique() && digits > 0.9 {
			add(Identifier, spaceless, 0.78, "every row has a code of its own")
			base = 0.6
		}
		add(Code, spaceless, base+0.1, "the values have the form of codes")
		add(Identifier, spaceless, 0.4, "the values have the form of codes")
		add(Product, spaceless, 0.1, "the values have the form of codes")
	}
	return out
}

func leadingZeros(e Evidence) bool {
	return e.share(func(s string) bool { return s[0] == '0' }) > 0.02
}

func lengthBelow(n int) func(string) bool { return func(s string) bool { return len(s) < n } }

// threshold returns share if it is at least from, else 0.
func threshold(share, from float64) float64 {
	if share < from {
		return 0
	}
	return share
}

// names judges words: names of people, places and things, categories and prose.
func names(e Evidence, words []string) []Meaning {
	var out []Meaning
	add := func(t Type, fit, base float64, why string) { out = append(out, weigh(t, fit, base, words, why)) }
	wordy := e.share(letters)
	one := e.share(func(s string) bool { return letters(s) && !strings.Contains(s, " ") })
	some := e.share(func(s string) bool {
		s = strings.Replace(s, ",", " ", 1) // the family name first
		n := len(strings.Fields(s))
		return n >= 2 && n <= 4 && letters(s) && proper(s)
	})
	first, last := e.share(known().firstNames.has), e.share(known().lastNames.has)
	person := e.share(isPerson)
	city := e.share(known().cities.has)
	street := e.share(func(s string) bool {
		return digitsOf(s) != "" && streetForm.MatchString(s) && len(strings.Fields(s)) >= 2
	})
	if street > 0.6 {
		roads := e.share(streetWord.MatchString)
		add(StreetAddress, street, 0.55+0.42*roads, "the values have numbers and words for streets")
	}
	company := e.share(companyWord.MatchString)
	add(Company, max(company, wordy), 0.2+0.75*min(1, company*1.6), "the values have words for companies")
	if one > 0.9 {
		add(FirstName, one, lift(first, last), "the values are given names")
		add(LastName, one, lift(last, first), "the values are family names")
	}
	add(PersonName, some, 0.3+0.67*min(1, person*2.2), "the values are names of people")
	add(City, wordy, 0.25+0.7*min(1, city*2.5)*float64(boolOf(city > max(first, last))), "the values are names of cities")
	long := e.share(func(s string) bool { return len(strings.Fields(s)) >= 5 })
	add(FreeText, max(long, 0.2), 0.25+0.7*long, "the values are sentences")
	few := e.Complete && e.NotNull >= 4*e.Distinct && e.Distinct <= 60
	if few {
		add(Category, 1, 0.8, "few values occur again and again")
	} else {
		add(Category, 0.6, 0.3, "the values are words")
	}
	several := e.share(func(s string) bool { n := len(strings.Fields(s)); return n >= 2 && n <= 6 })
	add(Product, max(several, wordy)*0.9, 0.45+0.2*several*(1-person), "the values are names of things")
	return out
}

// lift returns the confidence that one list of names fits better than another.
func lift(share, other float64) float64 {
	if share < 0.08 || share < other {
		return 0.25
	}
	return 0.6 + 0.38*min(1, share*2)
}

// isPerson reports whether a text has two to four words one of which is a known name of
// people.
func isPerson(s string) bool {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' })
	if len(words) < 2 || len(words) > 4 || !letters(strings.ReplaceAll(s, ",", "")) {
		return false
	}
	return slices.ContainsFunc(words, known().firstNames.has) || known().lastNames.has(words[0]) ||
		known().lastNames.has(words[len(words)-1])
}
