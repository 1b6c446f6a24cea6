package csvinfer

import (
	"cmp"
	"strings"

	"github.com/lakewarden/lakewarden/engine"
	"github.com/lakewarden/lakewarden/engine/ingest/csvbody"
)

// Proposal is what was found at the beginning of a file: Lead by this package, the rest by an engine.
// Empty members propose nothing.
type Proposal struct {
	Lead                        Lead
	Delimiter, Quote            string
	NoHeader                    bool
	DateFormat, TimestampFormat string
}

// SniffSQL returns SQL that describes the sample at path, for [ReadProposal]. Given options and the
// delimiter of the file are taken as they are.
func SniffSQL(path string, lead Lead, given csvbody.Options) string {
	sql := `SELECT "Delimiter"::VARCHAR, "Quote"::VARCHAR, "HasHeader"::VARCHAR, coalesce("DateFormat", '')::VARCHAR, ` +
		`coalesce("TimestampFormat", '')::VARCHAR, len("Columns")::BIGINT FROM sniff_csv(` + engine.QuoteString(path) +
		", ignore_errors=true, strict_mode=true"
	for _, option := range [][2]string{{"delim", cmp.Or(lead.Delimiter, given.Delimiter)}, {"quote", given.Quote}} {
		if option[1] != "" {
			sql += ", " + option[0] + "=" + engine.QuoteString(option[1])
		}
	}
	// Without the texts for NULL, the engine would not recognise the types of columns, and thus the
	// header.
	nulls := nullTexts
	if given.Null != "" {
		nulls = []string{given.Null}
	}
	var quoted []string
	for _, text := range nulls { // the engine refuses texts with a delimiter or quote
		if !strings.ContainsAny(text, lead.Delimiter+given.Delimiter+given.Quote) {
			quoted = append(quoted, engine.QuoteString(text))
		}
	}
	if quoted != nil {
		sql += ", nullstr=[" + strings.Join(quoted, ", ") + "]"
	}
	switch given.Header {
	case csvbody.HeaderPresent:
		sql += ", header=true"
	case csvbody.HeaderAbsent:
		sql += ", header=false"
	}
	return sql + ")"
}

// ReadProposal reads the row that [SniffSQL] selects.
func ReadProposal(r engine.Row, lead Lead) Proposal {
	p := Proposal{Lead: lead,
		Delimiter: one(r.Text(0)), Quote: one(r.Text(1)), NoHeader: r.Text(2) == "false",
		DateFormat: r.Text(3), TimestampFormat: r.Text(4),
	}
	if p.Delimiter == p.Quote {
		p.Quote = ""
	}
	if r.Int64(5) <= 1 { // the engine also proposes a delimiter that does not occur
		p.Delimiter = commonDelimiter(lead.Line)
	}
	return p
}

// one returns a text of one ASCII character, or "".
func one(text string) string {
	if len(text) != 1 || text[0] >= 0x80 || strings.Contains("\x00\r\n", text) {
		return ""
	}
	return text
}

// commonDelimiter returns the delimiter that occurs most in a line, outside of quotes, or "".
func commonDelimiter(line string) string {
	best, most := "", 0
	for _, d := range []string{",", ";", "\t", "|"} {
		n, quoted := 0, false
		for i := range len(line) {
			switch {
			case line[i] == '"':
				quoted = !quoted
			case line[i] == d[0] && !quoted:
				n++
			}
		}
		if n > most {
			best, most = d, n
		}
	}
	return best
}

// Unread is the proposal for a sample that the engine cannot read.
func Unread(lead Lead) Proposal { return Proposal{Lead: lead, Delimiter: commonDelimiter(lead.Line)} }
