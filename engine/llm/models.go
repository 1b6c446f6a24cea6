package llm

import (
	"slices"
	"strings"
)

// Family is a vendor of models.
type Family string

// The families.
const (
	// FamilyA speaks the Messages API of Anthropic.
	FamilyA Family = "familyA"
	// FamilyB speaks the Responses API of OpenAI.
	FamilyB Family = "familyB"
	// FamilyC speaks the Gemini API of Google.
	FamilyC Family = "familyC"
)

// Families lists the families.
func Families() []Family { return []Family{FamilyA, FamilyB, FamilyC} }

// Model is a model that requests can name.
type Model struct {
	// ID is its name in requests: the family, a hyphen and the rest of the vendor's name.
	ID     string
	Family Family
	// Default reports that the family uses this model if a request names none.
	Default bool
	// Description says what distinguishes the model from others; it may be "".
	Description string
}

// models is the list of models, by family.
var models = []Model{
	{ID: "familyA-fable-5", Family: FamilyA, Description: "most capable"},
	{ID: "familyA-opus-5", Family: FamilyA},
	{ID: "familyA-sonnet-5", Family: FamilyA, Default: true},
	{ID: "familyA-opus-4-8", Family: FamilyA},
	{ID: "familyA-sonnet-4-6", Family: FamilyA},
	{ID: "familyA-opus-4-6", Family: FamilyA},
	{ID: "familyA-haiku-4-5", Family: FamilyA, Description: "fast"},

	{ID: "familyB-5.6", Family: FamilyB},
	{ID: "familyB-5.6-terra", Family: FamilyB, Default: true},
	{ID: "familyB-5.6-luna", Family: FamilyB},
	{ID: "familyB-5.5", Family: FamilyB},
	{ID: "familyB-5.5-pro", Family: FamilyB},
	{ID: "familyB-5.4", Family: FamilyB},
	{ID: "familyB-5.4-mini", Family: FamilyB},
	{ID: "familyB-5.4-nano", Family: FamilyB},

	// No default of this family is specified, so it is the first model.
	{ID: "familyC-3.1-pro-preview", Family: FamilyC, Default: true},
	{ID: "familyC-3-pro-preview", Family: FamilyC},
	{ID: "familyC-3-flash-preview", Family: FamilyC},
	{ID: "familyC-2.5-pro", Family: FamilyC},
	{ID: "familyC-2.5-flash", Family: FamilyC, Description: "1 million context window"},
	{ID: "familyC-2.5-flash-lite", Family: FamilyC},
}

// Models lists the models.
func Models() []Model { return slices.Clone(models) }

// Find returns the model with an id.
func Find(id string) (Model, bool) {
	for _, m := range models {
		if m.ID == id {
			return m, true
		}
	}
	return Model{}, false
}

// Default returns the default model of a family.
func Default(family Family) (Model, bool) {
	for _, m := range models {
		if m.Family == family && m.Default {
			return m, true
		}
	}
	return Model{}, false
}

// Names says how the vendors call the models. The zero value uses their present names.
type Names struct {
	// Prefixes replace the family and the hyphen of an id. A family without an entry has the
	// prefix of the vendor's present names, such as "gpt-".
	Prefixes map[Family]string
	// Overrides are whole names by id.
	Overrides map[string]string
}

// defaultPrefix returns the prefix of a family's names.
func defaultPrefix(family Family) string {
	switch family {
	case FamilyA:
		return "claude-"
	case FamilyB:
		return "gpt-"
	case FamilyC:
		return "gemini-"
	}
	return ""
}

// VendorName returns the vendor's name of a model.
func (n Names) VendorName(m Model) string {
	if name := n.Overrides[m.ID]; name != "" {
		return name
	}
	prefix, ok := n.Prefixes[m.Family]
	if !ok {
		prefix = defaultPrefix(m.Family)
	}
	return prefix + strings.TrimPrefix(m.ID, string(m.Family)+"-")
}
