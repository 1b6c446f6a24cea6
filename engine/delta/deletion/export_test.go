package deletion

// DecodeBytes returns nil for bytes that are not a valid set.
func DecodeBytes(data []byte) *Rows {
	r, err := decode(data)
	if err != nil {
		return nil
	}
	return r
}
