package semantic

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/currency"
)

var (
	uuidForm  = regexp.MustCompile(`^(?i)\{?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\}?$`)
	phoneForm = regexp.MustCompile(`^(\+|00)?[(]?[0-9][0-9 ()./-]{5,20}[0-9]( ?(x|ext\.?|extension) ?[0-9]{1,6})?$`)
	ssnForm   = regexp.MustCompile(`^([0-8][0-9]{2})-([0-9]{2})-([0-9]{4})$`)
	pathForm  = regexp.MustCompile(`^([A-Za-z]:\\|\\\\|~?/|\.{1,2}/)?([^/\\:*?"<>|]+[/\\])+[^/\\:*?"<>|]*$`)
	fileForm  = regexp.MustCompile(`^[\pL\pN _()-]+\.[a-z0-9]{2,4}$`)
	hexColor  = regexp.MustCompile(`^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})$`)
	percent   = regexp.MustCompile(`^[+-]?[0-9]+([.,][0-9]+)? ?%$`)
	money     = regexp.MustCompile(`^[+-]?(([$€£¥₹]|[A-Z]{3}) ?[0-9][0-9.,' ]*|[0-9][0-9.,' ]* ?([$€£¥₹]|[A-Z]{3}))$`)
	withUnit  = regexp.MustCompile(`^[+-]?[0-9]+([.,][0-9]+)? ?(mm|cm|m|km|in|ft|mi|g|kg|mg|lb|lbs|oz|t|l|ml|s|ms|min|h|hrs?|°?[CFK]|` +
		`kW|W|V|A|Hz|kHz|GB|MB|KB|mph|km/h|psi|bar|kPa|hPa)$`)
	codeForm   = regexp.MustCompile(`^[\p{Lu}0-9]+([._/-][\pL0-9]+)*$`)
	usState    = regexp.MustCompile(`^[A-Z]{2}$`)
	streetForm = regexp.MustCompile(`(?i)(^[0-9]+[a-z]?,? +[\pL0-9]|[\pL.]+ +[0-9]+[a-z]?(,|$))`)
	streetWord = regexp.MustCompile(`(?i)\b(st|street|ave|avenue|rd|road|blvd|boulevard|ln|lane|dr|drive|ct|court|way|place|pl|terrace|` +
		`square|sq|parkway|pkwy|circle|crescent|close|highway|hwy|trail|rue|calle|via|platz|weg|allee|loop|row|walk|plaza)\b|` +
		`(stra(ss|ß)e|str\.|weg|gasse|platz)\b`)
	companyWord = regexp.MustCompile(`(?i)\b(inc|llc|ltd|limited|corp|corporation|co|gmbh|ag|plc|sa|sas|srl|bv|nv|oy|ab|kg|pty|group|` +
		`holdings?|partners|associates|industries|solutions|technologies|systems|labs|enterprises|company|bros|brothers|sons|airlines?|bank)\b`)
	postalForms = regexp.MustCompile(`^([0-9]{5}(-[0-9]{4})?|[A-Z][0-9][A-Z] ?[0-9][A-Z][0-9]|[A-Z]{1,2}[0-9][A-Z0-9]? ?[0-9][A-Z]{2}|` +
		`[0-9]{4}( [A-Z]{2})?|[0-9]{3}-?[0-9]{4}|[0-9]{2}-[0-9]{3}|[A-Z]{1,2}-[0-9]{4,5})$`)
)

func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at <= 0 || !strings.Contains(s[at:], ".") || strings.ContainsAny(s, " <>") {
		return false
	}
	_, err := mail.ParseAddress(s)
	return err == nil
}

func isURL(s string) bool {
	if strings.HasPrefix(strings.ToLower(s), "www.") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "ftp")
}

func isIP(s string) bool {
	if _, err := netip.ParseAddr(s); err == nil {
		return strings.Count(s, ".") == 3 || strings.Count(s, ":") > 1
	}
	_, err := netip.ParsePrefix(s)
	return err == nil
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// isPhone requires a separator, or a plus or zero at the beginning: other digits are a number.
func isPhone(s string) bool {
	n := len(digitsOf(s))
	signed := strings.HasPrefix(s, "+") || strings.HasPrefix(s, "0") || strings.ContainsAny(s, "()- ./")
	return n >= 7 && n <= 15 && signed && phoneForm.MatchString(s) && !isDate(s) && !isIP(s) && !ssnForm.MatchString(s)
}

// isCard checks the length, the first digit and the checksum (ISO/IEC 7812).
func isCard(s string) bool {
	d := digitsOf(s)
	if len(d) < 13 || len(d) > 19 || strings.Trim(s, "0123456789 -") != "" || !strings.ContainsRune("23456", rune(d[0])) {
		return false
	}
	sum := 0
	for i := range d {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// isIBAN checks the form and the checksum (ISO 13616).
func isIBAN(s string) bool {
	s = strings.ToUpper(strings.ReplaceAll(s, " ", ""))
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	rest := 0
	for _, r := range s[4:] + s[:4] {
		switch {
		case r >= '0' && r <= '9':
			rest = (rest*10 + int(r-'0')) % 97
		case r >= 'A' && r <= 'Z':
			rest = (rest*100 + int(r-'A') + 10) % 97
		default:
			return false
		}
	}
	letters := func(t string) bool { return strings.Trim(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" }
	return rest == 1 && letters(s[:2]) && digitsOf(s[2:4]) == s[2:4]
}

// isSSN checks the form, and that no part is one that is never assigned.
func isSSN(s string) bool {
	m := ssnForm.FindStringSubmatch(s)
	return m != nil && m[1] != "000" && m[1] != "666" && m[2] != "00" && m[3] != "0000"
}

var dateLayouts = []string{"2006-01-02", "02.01.2006", "2.1.2006", "01/02/2006", "02/01/2006", "1/2/2006", "2/1/2006", "2006/01/02",
	"20060102",
	"Jan 2, 2006", "January 2, 2006", "2 Jan 2006", "2 January 2006", "02-Jan-2006", "02-01-2006", "01-02-2006", "02/01/06", "01/02/06",
	"02.01.06", "Jan 2 2006", "Mon, 2 Jan 2006"}

var timeLayouts = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04",
	"01/02/2006 15:04", "02/01/2006 15:04", "02.01.2006 15:04", "02.01.2006 15:04:05", "01/02/2006 15:04:05", "01/02/2006 3:04 PM",
	time.RFC1123, time.RFC1123Z, time.ANSIC, "2006-01-02 15:04:05-07", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05.999999",
	"02/Jan/2006:15:04:05 -0700", "1/2/2006 15:04", "2006-01-02T15:04:05.999Z07:00"}

func parses(s string, layouts []string) bool {
	for _, l := range layouts {
		if _, err := time.Parse(l, s); err == nil {
			return true
		}
	}
	return false
}

func isDate(s string) bool {
	if len(s) == 8 && digitsOf(s) == s && (s < "18000101" || s > "22001231") {
		return false
	}
	return len(s) >= 6 && parses(s, dateLayouts)
}

func isTime(s string) bool { return len(s) >= 14 && parses(s, timeLayouts) }

func isCurrency(s string) bool {
	if len(s) != 3 || strings.ToUpper(s) != s {
		return false
	}
	_, err := currency.ParseISO(s)
	return err == nil
}

// number returns the value of a text that is one number. Commas are taken for separators of
// thousands.
func number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(s), ",", ""), 64)
	return f, err == nil
}

func isNumber(s string) bool { _, ok := number(s); return ok }

func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// letters reports whether a text consists of words without digits.
func letters(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !strings.ContainsRune(" .'’-", r)
	}) < 0
}

// proper reports whether every word of more than three letters begins with a capital.
func proper(s string) bool {
	for w := range strings.FieldsSeq(s) {
		first := []rune(w)[0]
		if unicode.IsLower(first) && len(w) > 3 {
			return false
		}
	}
	return true
}
