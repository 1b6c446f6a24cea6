// Package awskms encrypts key files with a key of AWS KMS.
//
// The KMS encrypts a data key for each version of the file, because it accepts 4 KiB at
// most. Credentials come from the machine: the environment, a web identity, a container or
// an instance role.
//
// What may not go in it: how long opened keys are used, which package secret decides.
package awskms
