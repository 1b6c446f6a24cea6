// Package kmstest gives tests a key of a KMS that speaks the protocol of AWS.
//
// The server is moto on a free loopback port, run by the Python of package oracletest. It
// ends with the test.
//
// For tests only.
package kmstest
