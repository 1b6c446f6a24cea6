package deletion

import "encoding/binary"

// z85Digits is the alphabet of ZeroMQ RFC 32.
const z85Digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

// noDigit marks bytes outside the alphabet.
const noDigit = 0xff

var z85Values = func() (values [256]byte) {
	for i := range values {
		values[i] = noDigit
	}
	for i := range len(z85Digits) {
		values[z85Digits[i]] = byte(i)
	}
	return values
}()

// encodeZ85 encodes data, padded with zeros to a multiple of four bytes.
func encodeZ85(data []byte) string {
	padded := append(make([]byte, 0, len(data)+3), data...)
	for len(padded)%4 != 0 {
		padded = append(padded, 0)
	}
	out := make([]byte, 0, len(padded)/4*5)
	for ; len(padded) > 0; padded = padded[4:] {
		word := binary.BigEndian.Uint32(padded)
		var digits [5]byte
		for i := 4; i >= 0; i-- {
			digits[i] = z85Digits[word%85]
			word /= 85
		}
		out = append(out, digits[:]...)
	}
	return string(out)
}

// decodeZ85 decodes text. It reports false if text is not valid Z85.
func decodeZ85(text string) ([]byte, bool) {
	if len(text)%5 != 0 {
		return nil, false
	}
	out := make([]byte, 0, len(text)/5*4)
	for ; text != ""; text = text[5:] {
		var word uint64
		for i := range 5 {
			v := z85Values[text[i]]
			if v == noDigit {
				return nil, false
			}
			word = word*85 + uint64(v)
		}
		if word > 1<<32-1 {
			return nil, false
		}
		out = binary.BigEndian.AppendUint32(out, uint32(word))
	}
	return out, true
}
