package semantic

import (
	"slices"
	"strings"
)

// headerWords maps types to the words and sequences of words that name them. A sequence is
// joined without spaces.
var headerWords = map[Type]string{
	Email:         "email mail emailaddress courriel correo emailaddr",
	Phone:         "phone telephone tel mobile cell fax phonenumber telefon handy telefono mobil phoneno contactnumber gsm",
	CreditCard:    "creditcard cardnumber ccnumber pan card cardno ccnum kreditkarte",
	IBAN:          "iban bankaccount accountiban",
	URL:           "url website link homepage webpage uri site href webseite",
	IPAddress:     "ip ipaddress ipaddr clientip remoteaddr hostip ipv ipv4 ipv6 sourceip",
	UUID:          "uuid guid",
	PersonName:    "fullname name customername contactname employeename personname contact author owner patient manager",
	FirstName:     "firstname givenname forename vorname prenom nombre fname given first",
	LastName:      "lastname surname familyname nachname lname apellido family nom last secondname",
	Company:       "company organization organisation employer vendor supplier business manufacturer firm firma companyname brand client",
	StreetAddress: "street address streetaddress addressline addr strasse adresse direccion calle address1 shippingaddress billingaddress",
	City:          "city town municipality stadt ville ort ciudad locality suburb",
	State:         "state province region bundesland stateprovince county",
	Country:       "country nation land pays pais countryname nationality",
	CountryCode:   "countrycode iso countryiso isocode ctry cc",
	PostalCode:    "zip zipcode postalcode postcode plz postal codepostal",
	Latitude:      "lat latitude",
	Longitude:     "lon lng longitude long",
	DateOfBirth:   "dob birthdate dateofbirth birthday born geburtsdatum birth",
	Date:          "date day datum fecha due deadline hired start end",
	Timestamp:     "timestamp datetime at created updated modified time ts createdat updatedat lastlogin",
	Year:          "year yr jahr annee ano vintage",
	Month:         "month monat mois mes mon",
	CurrencyCode:  "currency currencycode ccy curr waehrung",
	Amount: "amount price cost total salary revenue fee balance income payment tax betrag preis prix sum subtotal wage budget value spend " +
		"charge unitprice totalprice netprice grossprice fare",
	Percentage:     "percent percentage pct rate ratio share discount margin completion",
	Quantity:       "quantity qty count number units stock items inventory menge cantidad nb num pieces seats visits clicks",
	Identifier:     "id key identifier uid number no pk ref reference serial orderid customerid",
	Code:           "code sku abbreviation iata icao symbol isbn ean part partno tailnum flight",
	Category:       "category type class group segment kind status department tier level stage channel genre priority method kategorie",
	Boolean:        "active enabled flag is has valid deleted verified subscribed isactive optin paid",
	Gender:         "gender sex geschlecht sexe",
	Age:            "age alter edad",
	SocialSecurity: "ssn socialsecurity socialsecuritynumber nationalid socsec",
	Language:       "language lang locale sprache langue idioma",
	Color:          "color colour farbe couleur",
	FilePath:       "path file filename filepath attachment document",
	FreeText:       "description comment comments notes note text remark review message body summary bio bemerkung feedback details",
	Product:        "product item productname article produkt itemname model title",
	Measurement: "weight height temperature temp length width distance speed depth volume area pressure humidity duration elevation " +
		"altitude precip wind visibility radius mass airtime delay power voltage",
	Ordinal: "rank position order rating score grade sequence seq place index stars level priority",
}

// typesByWord has the types that a word names.
var typesByWord = func() map[string][]Type {
	out := map[string][]Type{}
	for t, words := range headerWords {
		for w := range strings.FieldsSeq(words) {
			out[w] = append(out[w], t)
		}
	}
	for _, types := range out {
		slices.Sort(types)
	}
	return out
}()

// named returns how strongly a column's name speaks for a type: 1 if the whole name does,
// less if a part of it does, 0 if none.
func named(words []string, t Type) float64 {
	if len(words) == 0 {
		return 0
	}
	is := func(word string) bool {
		return slices.Contains(typesByWord[word], t) ||
			len(word) > 3 && strings.HasSuffix(word, "s") && slices.Contains(typesByWord[strings.TrimSuffix(word, "s")], t)
	}
	if is(strings.Join(words, "")) {
		return 1
	}
	for size := min(3, len(words)); size > 0; size-- {
		for at := len(words) - size; at >= 0; at-- {
			if is(strings.Join(words[at:at+size], "")) {
				strength := 0.6 + 0.1*float64(size)
				if at+size == len(words) {
					strength += 0.1 // the last word says what the others qualify
				}
				return strength
			}
		}
	}
	return 0
}
