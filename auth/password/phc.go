package password

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// ErrHash is returned for a stored hash that is not one of this package. A retry does not
// help. It becomes 500.
var ErrHash = errors.New("stored password hash is not valid")

// Params are the costs of one hash.
type Params struct {
	// Memory is in KiB.
	Memory uint32
	// Passes is the number of passes over the memory.
	Passes uint32
	// Lanes is the degree of parallelism.
	Lanes uint8
}

// DefaultParams are the costs that OWASP recommends for argon2id with 19 MiB.
var DefaultParams = Params{Memory: 19 << 10, Passes: 2, Lanes: 1}

// The bounds of the costs in a stored hash. A damaged record must not exhaust the server.
const (
	maxMemory = 256 << 10
	maxPasses = 16
	maxLanes  = 16
)

// The sizes of salts and keys, in bytes, of new hashes, and their bounds in stored ones.
const (
	saltSize = 16
	keySize  = 32
	minSize  = 8
	maxSize  = 64
)

// hash is a decoded PHC string.
type hash struct {
	params    Params
	salt, key []byte
}

const phcPrefix = "$argon2id$v="

// String returns the hash as a PHC string: $argon2id$v=19$m=…,t=…,p=…$salt$key.
func (h hash) String() string {
	encode := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("%s%d$m=%d,t=%d,p=%d$%s$%s", phcPrefix, argon2.Version, h.params.Memory, h.params.Passes, h.params.Lanes,
		encode(h.salt), encode(h.key))
}

// parseHash decodes a PHC string of argon2id.
func parseHash(text string) (h hash, err error) {
	rest, ok := strings.CutPrefix(text, phcPrefix)
	parts := strings.Split(rest, "$")
	if !ok || len(parts) != 4 || parts[0] != strconv.Itoa(argon2.Version) {
		return h, ErrHash
	}
	costs := strings.Split(parts[1], ",")
	if len(costs) != 3 {
		return h, ErrHash
	}
	var numbers [3]uint64
	for i, name := range []string{"m=", "t=", "p="} {
		value, ok := strings.CutPrefix(costs[i], name)
		if numbers[i], err = strconv.ParseUint(value, 10, 32); !ok || err != nil || numbers[i] == 0 {
			return h, ErrHash
		}
	}
	if numbers[0] > maxMemory || numbers[1] > maxPasses || numbers[2] > maxLanes {
		return h, ErrHash
	}
	h.params = Params{Memory: uint32(numbers[0]), Passes: uint32(numbers[1]), Lanes: uint8(numbers[2])}
	for i, part := range []*[]byte{&h.salt, &h.key} {
		*part, err = base64.RawStdEncoding.Strict().DecodeString(parts[2+i])
		if err != nil || len(*part) < minSize || len(*part) > maxSize {
			return h, ErrHash
		}
	}
	return h, nil
}

// compute returns the key of a password under the salt and costs of the hash.
func (h hash) compute(password []byte) []byte {
	return argon2.IDKey(password, h.salt, h.params.Passes, h.params.Memory, h.params.Lanes, uint32(len(h.key)))
}
