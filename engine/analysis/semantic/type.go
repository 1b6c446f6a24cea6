package semantic

// Type is what the values of a column mean.
type Type string

// The types.
const (
	Unknown        Type = "unknown"
	Email          Type = "email"
	Phone          Type = "phone"
	CreditCard     Type = "credit_card"
	IBAN           Type = "iban"
	URL            Type = "url"
	IPAddress      Type = "ip_address"
	UUID           Type = "uuid"
	PersonName     Type = "person_name"
	FirstName      Type = "first_name"
	LastName       Type = "last_name"
	Company        Type = "company"
	StreetAddress  Type = "street_address"
	City           Type = "city"
	State          Type = "state"
	Country        Type = "country"
	CountryCode    Type = "country_code"
	PostalCode     Type = "postal_code"
	Latitude       Type = "latitude"
	Longitude      Type = "longitude"
	DateOfBirth    Type = "date_of_birth"
	Date           Type = "date"
	Timestamp      Type = "timestamp"
	Year           Type = "year"
	Month          Type = "month"
	CurrencyCode   Type = "currency_code"
	Amount         Type = "amount"
	Percentage     Type = "percentage"
	Quantity       Type = "quantity"
	Identifier     Type = "identifier"
	Code           Type = "code"
	Category       Type = "category"
	Boolean        Type = "boolean"
	Gender         Type = "gender"
	Age            Type = "age"
	SocialSecurity Type = "social_security_number"
	Language       Type = "language"
	Color          Type = "color"
	FilePath       Type = "file_path"
	FreeText       Type = "free_text"
	Product        Type = "product"
	Measurement    Type = "measurement"
	Ordinal        Type = "ordinal"
)

// Personal reports whether values of the type identify a person, alone or nearly so.
func (t Type) Personal() bool {
	switch t {
	case Email, Phone, CreditCard, IBAN, IPAddress, PersonName, FirstName, LastName, StreetAddress, DateOfBirth, SocialSecurity:
		return true
	}
	return false
}
