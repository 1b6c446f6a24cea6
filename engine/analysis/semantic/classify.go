package semantic

import (
	"context"
	"fmt"
	"strings"

	"github.com/lakewarden/lakewarden/engine/analysis"
)

// Classification is the result of classify_columns.
type Classification struct {
	Columns []ClassifiedColumn `json:"columns" nullable:"false"`
	// Personal is the number of columns with data about persons.
	Personal int `json:"personal" doc:"Number of columns that identify persons"`
}

// ClassifiedColumn is a column with its meaning.
type ClassifiedColumn struct {
	Column       string   `json:"column"`
	Type         string   `json:"type" doc:"Type in SQL"`
	SemanticType string   `json:"semanticType" doc:"What the values mean, such as email, city or amount; unknown if nothing fits"`
	Confidence   float64  `json:"confidence" minimum:"0" maximum:"1"`
	PII          bool     `json:"pii" doc:"The values identify persons"`
	Reason       string   `json:"reason"`
	NotNull      int64    `json:"notNull" doc:"Rows with a value"`
	Distinct     int64    `json:"distinct" doc:"Different values; texts that differ only after 200 characters count once"`
	Examples     []string `json:"examples" nullable:"false" doc:"Some values; none of columns that identify persons"`
}

// examples is the number of values that a classification shows.
const examples = 3

// certain is the confidence from which a mask is proposed.
const certain = 0.8

// Classify assigns meanings to columns and finds those that identify persons. For these it
// proposes a policy that masks them.
func Classify(ctx context.Context, in analysis.Input) (analysis.Answer, error) {
	evidence, err := Columns(ctx, in, in.Columns)
	if err != nil {
		return analysis.Answer{}, err
	}
	result := Classification{Columns: []ClassifiedColumn{}}
	answer := analysis.Answer{Confidence: 1}
	for i, e := range evidence {
		m := Decide(e)
		c := ClassifiedColumn{Column: e.Name, Type: in.Columns[i].Type.String(), SemanticType: string(m.Type), Confidence: m.Confidence,
			PII: m.Type.Personal(), Reason: m.Why, NotNull: e.NotNull, Distinct: e.Distinct, Examples: []string{}}
		if in.Columns[i].Masked {
			c.Reason = "the values are masked; " + c.Reason
		}
		if c.PII {
			result.Personal++
			if p, ok := masking(in.Columns[i], e, m); ok && len(answer.Proposals) < in.Limit {
				answer.Proposals = append(answer.Proposals, p)
			}
		} else {
			for _, v := range e.Values[:min(examples, len(e.Values))] {
				c.Examples = append(c.Examples, v.Text)
			}
		}
		if m.Type != Unknown {
			answer.Confidence = min(answer.Confidence, m.Confidence)
		}
		result.Columns = append(result.Columns, c)
	}
	answer.Result, answer.Text = result, result.text(in.Table.Name)
	return answer, nil
}

// masking proposes a mask for a column that identifies persons.
func masking(c analysis.Column, e Evidence, m Meaning) (analysis.Proposal, bool) {
	if c.Masked || m.Confidence < certain {
		return analysis.Proposal{}, false
	}
	mask := "null"
	text := c.Kind() == analysis.KindText
	switch m.Type {
	case CreditCard, IBAN, Phone, SocialSecurity:
		if text {
			mask = "last4"
		}
	case Email, PersonName, FirstName, LastName, IPAddress:
		if text {
			mask = "hash" // equal values stay equal, so that groups and joins keep working
		}
	case DateOfBirth:
		if !text {
			mask = "year"
		}
	}
	return analysis.Proposal{
		Title:   fmt.Sprintf("Mask %s for everybody except administrators (mask %s).", c.Name, mask),
		Columns: []string{c.Name}, Confidence: m.Confidence, Change: analysis.MaskColumn{Column: c.Name, Mask: mask},
		Effect: analysis.Effect{Rows: analysis.Number(e.NotNull)},
	}, true
}

func (c Classification) text(table string) string {
	var b strings.Builder
	var personal, others []string
	for _, x := range c.Columns {
		switch {
		case x.PII:
			personal = append(personal, x.Column+" ("+strings.ReplaceAll(x.SemanticType, "_", " ")+")")
		case x.SemanticType != string(Unknown):
			others = append(others, x.Column+" ("+strings.ReplaceAll(x.SemanticType, "_", " ")+")")
		}
	}
	fmt.Fprintf(&b, "In the table %s, %s classified.", table, analysis.Plural(int64(len(c.Columns)), "column was", "columns were"))
	if len(personal) > 0 {
		fmt.Fprintf(&b, " %s persons: %s.", analysis.Plural(int64(len(personal)), "column identifies", "columns identify"),
			analysis.List(personal, 10))
	} else {
		b.WriteString(" No column was found that identifies persons.")
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, " The others are %s.", analysis.List(others, 10))
	}
	return b.String()
}
