package catalog

import (
	"net/mail"
	"strings"
	"time"
	"unicode"
)

// UserKind distinguishes people from programs.
type UserKind string

// The kinds of users.
const (
	UserPerson UserKind = "person"
	// UserService is a service account, which belongs to one organisation.
	UserService UserKind = "service"
)

// serviceDomain is the domain of the e-mail addresses of service accounts. It is reserved:
// no mailbox has such an address.
const serviceDomain = "service.invalid"

// deletedDomain is the domain of the e-mail addresses of deleted people. It is reserved, too.
const deletedDomain = "deleted.invalid"

// DeletedEmail returns what takes the place of the address of a deleted person.
func DeletedEmail(user UserID) string { return string(user) + "@" + deletedDomain }

// User is a person or a service account. A person can be a member of several
// organisations.
type User struct {
	ID   UserID
	Kind UserKind
	// Email is unique and in lower case; see [NormaliseEmail]. That of a service account
	// is derived from its id and belongs to no mailbox.
	Email       string
	DisplayName string
	Version     int64
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// NewUser is the input of [Users.CreateUser]. An empty ID lets the store
// choose one.
type NewUser struct {
	ID UserID
	// Kind may be empty for a person.
	Kind UserKind
	// Email must be empty for a service account.
	Email       string
	DisplayName string
}

// Validate returns nil or [FieldErrors].
func (n NewUser) Validate() error {
	var e FieldErrors
	switch n.Kind {
	case "", UserPerson:
		e.email("email", n.Email)
	case UserService:
		if n.Email != "" {
			e.add("email", "must be empty for a service account")
		}
	default:
		e.add("kind", "must be person or service")
	}
	e.text("display_name", n.DisplayName, 0, 200)
	return e.Err()
}

// Complete returns the input with an id, a kind and a normalised address.
func (n NewUser) Complete() NewUser {
	if n.ID == "" {
		n.ID = NewID[UserID]()
	}
	if n.Kind == UserService {
		n.Email = string(n.ID) + "@" + serviceDomain
		return n
	}
	n.Kind, n.Email = UserPerson, NormaliseEmail(n.Email)
	return n
}

// UserChange holds the fields to change. Nil fields keep their value.
type UserChange struct {
	// Email must be nil for a service account.
	Email       *string
	DisplayName *string
}

// Validate returns nil or [FieldErrors].
func (c UserChange) Validate() error {
	var e FieldErrors
	if c.Email != nil {
		e.email("email", *c.Email)
	}
	if c.DisplayName != nil {
		e.text("display_name", *c.DisplayName, 0, 200)
	}
	return e.Err()
}

// NormaliseEmail returns the form in which e-mail addresses are stored and compared. Only
// ASCII letters are lower-cased: Unicode maps some others to ASCII letters, so that two
// mailboxes would have one form.
func NormaliseEmail(address string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, strings.TrimSpace(address))
}

// ValidateMailbox returns nil or [FieldErrors] of the given field for an e-mail address by
// which somebody is invited or signs in. It refuses all but ASCII characters, because others
// look like them. International domains are written in their ASCII form (xn--…).
func ValidateMailbox(field, email string) error {
	var e FieldErrors
	e.mailbox(field, email)
	return e.Err()
}

func (e *FieldErrors) mailbox(field, email string) {
	for _, r := range email {
		if r > unicode.MaxASCII {
			e.add(field, "must consist of ASCII characters; write an international domain in its xn-- form")
			return
		}
	}
	e.email(field, email)
}

func (e *FieldErrors) email(field, address string) {
	address = NormaliseEmail(address)
	parsed, err := mail.ParseAddress(address)
	_, domain, _ := strings.Cut(address, "@")
	// The parser accepts display names, comments and quoted local parts. Only a bare
	// address may be stored, otherwise two spellings name one mailbox.
	if err != nil || parsed.Address != address || len(address) > 254 ||
		domain == "" || domain == serviceDomain || domain == deletedDomain || strings.ContainsAny(address, " \"<>()[]\\,;:") {
		e.add(field, "must be an e-mail address")
	}
}

// Membership is the membership of a user in an organisation: the user's role, and the
// attributes that policies use.
type Membership struct {
	Org  OrgID
	User UserID
	Kind UserKind
	// Email is that of [User].
	Email       string
	DisplayName string
	Role        Role
	// Attributes is never nil.
	Attributes map[string]string
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Bounds of the attributes of one member.
const (
	MaxAttributes          = 100
	MaxAttributeNameLength = 64
	MaxAttributeValueBytes = 4096
)

// ValidateAttributes returns nil or [FieldErrors].
func ValidateAttributes(attributes map[string]string) error {
	var e FieldErrors
	if len(attributes) > MaxAttributes {
		e.add("attributes", "must have at most %d entries", MaxAttributes)
		return e.Err()
	}
	for _, name := range sortedKeys(attributes) {
		if !attributeName(name) {
			e.add("attributes", "has a name that is not 1 to %d letters, digits, '_', '-' or '.', starting with a letter or '_'",
				MaxAttributeNameLength)
			continue
		}
		field := "attributes." + name
		if value := attributes[name]; len(value) > MaxAttributeValueBytes {
			e.add(field, "must have at most %d bytes", MaxAttributeValueBytes)
		} else if !storableText(value) {
			e.add(field, "must be valid UTF-8 without NUL")
		}
	}
	return e.Err()
}

func attributeName(name string) bool {
	if name == "" || len(name) > MaxAttributeNameLength {
		return false
	}
	for i, r := range name {
		switch {
		case r == '_', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		case i > 0 && (r == '-' || r == '.' || r >= '0' && r <= '9'):
		default:
			return false
		}
	}
	return true
}
