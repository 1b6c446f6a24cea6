package oracletest

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// FreeAddress returns an address on loopback that nobody uses. Its port is below those that
// systems choose themselves, so that no other process gets it before a program listens.
func FreeAddress() (address string, err error) {
	for range 100 {
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(20_000+rand.IntN(12_000)))); err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", err
}
